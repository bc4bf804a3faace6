"""Answers every question by the length of the title."""

import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    topic, document = asked["topic"], asked["document"]
    answer = {"topic": topic["id"], "document": document["id"], "grade": len(document["title"]) % 3}
    print(json.dumps(answer), flush=True)
