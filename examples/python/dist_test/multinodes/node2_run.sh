#!/bin/sh
exec sh "$(dirname "$0")/run.sh" 192.168.0.2 "$@"
