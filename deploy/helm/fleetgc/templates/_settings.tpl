{{/* The mode in which signatures count; empty where they do not. A file may say off without quotes, which is false in YAML. */}}
{{- define "fleetgc.signs" -}}
{{- if not (has (toString .Values.trust.mode) (list "off" "false")) -}}{{ .Values.trust.mode }}{{- end -}}
{{- end -}}

{{/* What every process reads from its environment, of values that have a name of their own. */}}
{{- define "fleetgc.namedSettings" -}}
FLEETGC_KAFKA_BROKERS: {{ join "," .Values.kafka.brokers | quote }}
{{- with .Values.kafka.prefix }}
FLEETGC_KAFKA_PREFIX: {{ . | quote }}
{{- end }}
FLEETGC_KAFKA_REPLICATION_FACTOR: {{ .Values.kafka.replicationFactor | quote }}
{{- with .Values.kafka.tls }}
{{- if .enabled }}
FLEETGC_KAFKA_TLS: "true"
{{- if .authority }}
FLEETGC_KAFKA_CA_FILE: /etc/fleetgc/kafka/ca.pem
{{- end }}
{{- if .clientCertificate }}
FLEETGC_KAFKA_CERTIFICATE_FILE: /etc/fleetgc/kafka/tls.crt
FLEETGC_KAFKA_KEY_FILE: /etc/fleetgc/kafka/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.kafka.sasl.mechanism }}
FLEETGC_KAFKA_SASL_MECHANISM: {{ . }}
FLEETGC_KAFKA_PASSWORD_FILE: /etc/fleetgc/kafka/password
{{- end }}
FLEETGC_TRUST: {{ include "fleetgc.signs" . | default "off" | quote }}
{{- if include "fleetgc.signs" . }}
FLEETGC_TRUST_ROOTS: /etc/fleetgc/roots/roots.yaml
{{- end }}
{{- with .Values.traces.otlpEndpoint }}
FLEETGC_OTLP_ENDPOINT: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* A number of a file is a floating one, and a large one of these would be written as 1e+06. */}}
{{- define "fleetgc.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{/* The same with further variables, of which none is one of these (checks.yaml): of two the later would win, unseen. */}}
{{- define "fleetgc.settings" -}}
{{- include "fleetgc.namedSettings" . }}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ include "fleetgc.text" $value | quote }}
{{- end }}
{{- end -}}

{{/* A pod starts anew when what it reads at its start has changed. */}}
{{- define "fleetgc.checksums" -}}
checksum/settings: {{ include "fleetgc.settings" . | sha256sum }}
checksum/roots: {{ .Values.trust.roots | sha256sum }}
{{- end -}}

{{- define "fleetgc.hasKafkaSecret" -}}
{{- if or .Values.kafka.tls.enabled .Values.kafka.sasl.mechanism }}yes{{ end -}}
{{- end -}}

{{- define "fleetgc.kafkaUser" -}}
{{- if .root.Values.kafka.sasl.mechanism }}
- name: FLEETGC_KAFKA_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: username
{{- end }}
{{- end -}}

{{- define "fleetgc.kafkaMount" -}}
{{- if include "fleetgc.hasKafkaSecret" . }}
- name: kafka
  mountPath: /etc/fleetgc/kafka
  readOnly: true
{{- end }}
{{- end -}}

{{/* What gets a pod to Kafka, and says whom it believes. */}}
{{- define "fleetgc.commonMounts" -}}
{{- include "fleetgc.kafkaMount" . }}
{{- if include "fleetgc.signs" . }}
- name: roots
  mountPath: /etc/fleetgc/roots
  readOnly: true
{{- end }}
{{- end -}}

{{- define "fleetgc.commonVolumes" -}}
{{- if include "fleetgc.hasKafkaSecret" .root }}
- name: kafka
  secret:
    secretName: {{ .secret }}
{{- end }}
{{- if include "fleetgc.signs" .root }}
- name: roots
  configMap:
    name: fleetgc-roots
{{- end }}
{{- end -}}

{{/* Its group alone may read a key; the program refuses one that others may open. */}}
{{- define "fleetgc.signingVolume" -}}
- name: signing
  secret:
    secretName: {{ . }}
    defaultMode: 288 # 0440
{{- end -}}
