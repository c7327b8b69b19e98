#!/usr/bin/env bash
# Links texts over the REST interface with curl. Start a server first: pel serve --api --bundle BUNDLE
set -euo pipefail
api=${PEL_API:-http://127.0.0.1:8080}

# One text.
curl -fsS "$api/v1/link" -H 'content-type: application/json' \
    -d '{"text": "No fever, but chest pain.", "options": {"k": 1}}'

# Several texts, as a table.
curl -fsS "$api/v1/link" -H 'content-type: application/json' -H 'accept: text/csv' \
    -d '{"texts": [{"id": "a", "text": "Mother had diabetes."}, {"id": "b", "text": "Denies fever."}]}'

# A given mention. Offsets are code points.
curl -fsS "$api/v1/link?spans_only=true" -H 'content-type: application/json' \
    -d '{"text": "high temperature", "spans": [{"start": 0, "end": 16}]}'

# A stream: a text on each line in, a line for each text out.
printf '%s\n' '{"id": "1", "text": "Fever since Monday."}' '{"id": "2", "text": "No chest pain."}' |
    curl -fsS "$api/v1/link?asserted=true" -H 'content-type: application/x-ndjson' --data-binary @-

# Concepts whose names are like a query.
curl -fsS "$api/v1/search?q=pyrexia&k=3"
echo
