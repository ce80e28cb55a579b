{{/* A start may take minutes on a machine at work. */}}
{{- define "fleetgc.probes" -}}
{{- range $name, $path := dict "startupProbe" "/livez" "livenessProbe" "/livez" "readinessProbe" "/readyz" }}
{{ $name }}:
  httpGet:
    {{- with $.host }}
    host: {{ . }}
    {{- end }}
    path: {{ $path }}
    port: {{ $.port }}
  periodSeconds: {{ eq $name "livenessProbe" | ternary 15 5 }}
  timeoutSeconds: 3
  {{- if eq $name "startupProbe" }}
  failureThreshold: 60
  {{- end }}
{{- end }}
{{- end -}}

{{- define "fleetgc.restrictedContainer" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* fsGroup: may read keys and addresses that its group alone may read, and write to a volume of its own. */}}
{{- define "fleetgc.restrictedPod" -}}
runAsNonRoot: true
{{- with .root.Values.podSecurityContext }}
{{- with .runAsUser }}
runAsUser: {{ . }}
{{- end }}
{{- with .fsGroup }}
fsGroup: {{ . }}
{{- end }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Where a pod runs. */}}
{{- define "fleetgc.placing" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
nodeSelector:
  # The image has programs for Linux alone, and a cluster may have nodes with Windows.
  kubernetes.io/os: linux
  {{- with omit (.pod.nodeSelector | default dict) "kubernetes.io/os" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fleetgc.spread" -}}
topologySpreadConstraints:
{{- if .pod.topologySpreadConstraints }}
  {{- toYaml .pod.topologySpreadConstraints | nindent 2 }}
{{- else }}
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "fleetgc.selector" . | nindent 8 }}
{{- end }}
{{- end -}}

{{/*
The template of a pod that serves: of everything but the node and the operator's Job. Pod Security "restricted" takes it.
root, component, container, args, port (of health and metrics), pod (its values), secret (its login at Kafka); and where it has them:
pagePort, account, signing, env, mounts, volumes, checksums.
*/}}
{{- define "fleetgc.servingPod" -}}
metadata:
  labels:
    {{- include "fleetgc.podLabels" . | nindent 4 }}
  annotations:
    {{- include "fleetgc.checksums" .root | nindent 4 }}
    {{- with .checksums }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .pod.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with .account | default (empty .root.Values.serviceAccount.annotations | ternary "" "fleetgc") }}
  serviceAccountName: {{ . }}
  {{- end }}
  # Only what asks the API server has a token for it.
  automountServiceAccountToken: {{ not (empty .account) }}
  terminationGracePeriodSeconds: 30
  securityContext:
    {{- include "fleetgc.restrictedPod" . | nindent 4 }}
  {{- with include "fleetgc.placing" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- include "fleetgc.spread" . | nindent 2 }}
  containers:
    - name: {{ .container }}
      image: {{ include "fleetgc.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .args }}
      envFrom:
        - configMapRef:
            name: fleetgc
      env:
        # Every address of the pod, of IPv4 and of IPv6: the kubelet probes the one, "kubectl port-forward" uses another.
        - name: FLEETGC_HTTP_ADDRESS
          value: "[::]:{{ .pagePort | default .port }}"
        {{- if .pagePort }}
        - name: FLEETGC_PROBE_ADDRESS
          value: "[::]:{{ .port }}"
        {{- end }}
        {{- if .signing }}
        - name: FLEETGC_SIGNING_KEY_FILE
          value: /etc/fleetgc/signing/key.pem
        {{- end }}
        {{- with .env }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with include "fleetgc.kafkaUser" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: {{ .port }}
        {{- with .pagePort }}
        - name: page
          containerPort: {{ . }}
        {{- end }}
      {{- include "fleetgc.probes" (dict "port" "http") | trim | nindent 6 }}
      resources:
        {{- toYaml .pod.resources | nindent 8 }}
      securityContext:
        {{- include "fleetgc.restrictedContainer" . | nindent 8 }}
      volumeMounts:
        {{- with .mounts }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with include "fleetgc.commonMounts" .root | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- if .signing }}
        - name: signing
          mountPath: /etc/fleetgc/signing
          readOnly: true
        {{- end }}
  volumes:
    {{- with .volumes }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with include "fleetgc.commonVolumes" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .signing }}
    {{- include "fleetgc.signingVolume" . | nindent 4 }}
    {{- end }}
{{- end -}}
