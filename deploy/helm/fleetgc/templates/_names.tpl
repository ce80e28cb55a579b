{{/* One fleet of nodes has one agent on each of them, so names are fixed: a second release in the same cluster is refused by Helm. */}}

{{- define "fleetgc.selector" -}}
app.kubernetes.io/name: fleetgc
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{/* Of the chart's own accounts. */}}
{{- define "fleetgc.accountAnnotations" -}}
{{- with .Values.serviceAccount.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Of a pod: what selects it, and what the values add: root, component, pod (its values). What selects it cannot be overridden. */}}
{{- define "fleetgc.podLabels" -}}
{{- toYaml (merge (include "fleetgc.selector" . | fromYaml) (.pod.podLabels | default dict) .root.Values.podLabels) }}
{{- end -}}

{{/* Of objects, not of pods: a release number on a pod would restart it at every upgrade. */}}
{{- define "fleetgc.labels" -}}
app.kubernetes.io/name: fleetgc
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "fleetgc.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "fleetgc.labels" . | nindent 2 }}
{{- end -}}

{{- define "fleetgc.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}
