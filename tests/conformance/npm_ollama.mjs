// Does with npm's ollama package, whose file is the argument, what each line of the standard input asks for, and tells
// as a line what came of it.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Ollama } = await import(pathToFileURL(process.argv[2]));
console.log = console.error; // the package's own remarks

async function drained(stream) {
  const found = [];
  try {
    for await (const chunk of stream) found.push(chunk);
  } catch (error) {
    found.push(raised(error));
  }
  return found;
}

function raised(error) {
  return { raised: error.name, status: error.status_code ?? null, message: error.message };
}

async function answered({ url, headers, method, request }) {
  const answer = await new Ollama({ host: url, headers })[method](request ?? undefined);
  return request?.stream ? drained(answer) : answer;
}

for await (const line of createInterface({ input: process.stdin })) {
  const outcome = await answered(JSON.parse(line)).catch(raised);
  process.stdout.write(JSON.stringify(outcome ?? null) + "\n");
}
