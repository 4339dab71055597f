"""Takes in what is to be remembered, whichever way it comes."""
