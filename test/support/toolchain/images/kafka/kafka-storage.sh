#!/bin/sh
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:SharedArchiveFile=/opt/kafka/classes.jsa \
  -Dlog4j2.configurationFile=/opt/kafka/config/log4j2.yaml -cp "$(printf '%s:' /opt/kafka/libs/*.jar)" kafka.tools.StorageTool "$@"
