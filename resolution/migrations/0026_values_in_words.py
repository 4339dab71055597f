"""A fact in a dimension of values reads `mount has peek as its material` instead of `mount is a peek [material]`. What
members said is compared with what they say now: else all that was left as it is would be asked again."""

from django.db import migrations

KINDS = r"(^|[-_.])(types?|kinds?|sorts?|class|category|role)$"
VERBS = ["membership", "geography", "runs-on", "owned-by", "tech", "uses", "="]
REWORD = r"""
    UPDATE conflict_member SET text = found[1] || ' has ' || found[2] || ' as its ' || found[3]
    FROM (SELECT id AS member, regexp_match(text, '^(\S+) is an? (\S+) \[(\S+)\]$') AS found FROM conflict_member
          WHERE kind = 'edge') AS shown
    WHERE id = member AND found IS NOT NULL AND found[3] <> ALL(%s) AND found[3] !~ %s
"""


class Migration(migrations.Migration):
    dependencies = [("resolution", "0025_conflicts_by_their_words")]

    operations = [migrations.RunSQL([(REWORD, [VERBS, KINDS])], migrations.RunSQL.noop)]
