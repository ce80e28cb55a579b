{{- define "fleetgc.disruptionBudget" }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "fleetgc.metadata" .metadata | nindent 2 }}
spec:
  maxUnavailable: {{ .maxUnavailable }}
  selector:
    matchLabels:
      {{- include "fleetgc.selector" .metadata | nindent 6 }}
{{- end }}

{{/* KEDA's names for what the deciders' Secret has. */}}
{{- define "fleetgc.kedaSecretKeys" -}}
{{- if .Values.kafka.sasl.mechanism }}
username: username
password: password
{{- end }}
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.authority }}
ca: ca.pem
{{- end }}
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.clientCertificate }}
cert: tls.crt
key: tls.key
{{- end }}
{{- end -}}
