#!/bin/sh
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.configurationFile=/opt/kafka/config/log4j2.yaml \
  -cp "/opt/kafka/libs/*" kafka.tools.StorageTool "$@"
