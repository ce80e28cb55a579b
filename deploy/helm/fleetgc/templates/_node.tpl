{{/* A container of the node: root, name (the verb that it runs), port, runtimeSocket, resources, env, mounts, isAlone (needs no broker). */}}
{{- define "fleetgc.nodeContainer" -}}
{{- $node := .root.Values.node }}
- name: {{ .name }}
  image: {{ include "fleetgc.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args: [{{ .name }}]
  {{- if not .isAlone }}
  envFrom:
    - configMapRef:
        name: fleetgc
  {{- end }}
  env:
    - name: FLEETGC_RUNTIME_ENDPOINT
      value: unix://{{ .runtimeSocket }}
    {{- if $node.exposeMetrics }}
    - name: HOST_ADDRESS
      valueFrom:
        fieldRef:
          fieldPath: status.hostIP
    {{- end }}
    # In brackets it may be an address of IPv4 or of IPv6.
    - name: FLEETGC_HTTP_ADDRESS
      value: {{ printf "%s:%v" ($node.exposeMetrics | ternary "[$(HOST_ADDRESS)]" "127.0.0.1") .port | quote }}
    {{- if not .isAlone }}
    {{- include "fleetgc.nodeEnvironment" .root | nindent 4 }}
    {{- end }}
  {{- if $node.exposeMetrics }}
  ports:
    - name: {{ .name | replace "node-" "" | trunc 15 }}
      containerPort: {{ .port }}
  {{- end }}
  {{- include "fleetgc.probes" (dict "port" .port "host" ($node.exposeMetrics | ternary "" "127.0.0.1")) | trim | nindent 2 }}
  resources:
    {{- toYaml .resources | nindent 4 }}
  securityContext:
    # Exception 5: root. The runtime's socket, the logs of pods and the state belong to root, who needs no capability beside.
    runAsUser: 0
    {{- include "fleetgc.restrictedContainer" . | nindent 4 }}
    seccompProfile:
      type: RuntimeDefault
    {{- with $node.seLinuxOptions }}
    seLinuxOptions:
      {{- toYaml . | nindent 6 }}
    {{- end }}
  volumeMounts:
    {{- .mounts | nindent 4 }}
    {{- if not .isAlone }}
    {{- with include "fleetgc.commonMounts" .root | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- end }}
{{- end -}}

{{- define "fleetgc.nodeEnvironment" -}}
{{- $runtime := include "fleetgc.runtime" . | fromYaml -}}
- name: FLEETGC_CLUSTER
  value: {{ .Values.clusterName | quote }}
- name: FLEETGC_NODE_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
# The kubelet's filesystem is measured here.
- name: FLEETGC_NODEFS_PATH
  value: /var/lib/kubelet/fleetgc
{{- if .Values.node.kubelet.enabled }}
# Its certificate names the node, not 127.0.0.1.
- name: FLEETGC_KUBELET_URL
  value: {{ .Values.node.kubelet.url }}
- name: FLEETGC_KUBELET_SERVER_NAME
  valueFrom:
    fieldRef:
      fieldPath: spec.nodeName
- name: FLEETGC_KUBELET_CA_FILE
  value: {{ $runtime.kubeletAuthority }}
- name: FLEETGC_KUBELET_TOKEN_FILE
  value: /var/run/secrets/fleetgc/token
{{- end }}
{{- with .Values.node.signingKeyFile }}
- name: FLEETGC_SIGNING_KEY_FILE
  value: {{ . }}
{{- end }}
{{- include "fleetgc.kafkaUser" (dict "root" . "secret" .Values.kafka.secrets.nodes) }}
{{- end -}}

{{/* What agent and executor both see of the machine; logs is how they see the logs of pods. */}}
{{- define "fleetgc.machineMounts" -}}
{{- $runtime := include "fleetgc.runtime" .root | fromYaml -}}
- name: state
  mountPath: /var/lib/fleetgc
# Of the kubelet's directory, which has every pod's secrets, an empty folder of our own and the kubelet's certificate.
- name: kubelet-filesystem
  mountPath: /var/lib/kubelet/fleetgc
  readOnly: true
{{- if .root.Values.node.kubelet.enabled }}
- name: kubelet-certificate
  mountPath: {{ $runtime.kubeletAuthority }}
  readOnly: true
- name: token
  mountPath: /var/run/secrets/fleetgc
  readOnly: true
{{- end }}
# Only measured.
- name: runtime-data
  mountPath: {{ $runtime.dataDirectory }}
  readOnly: true
  mountPropagation: HostToContainer
- name: pod-logs
  mountPath: /var/log/pods
  {{- if eq .logs "read" }}
  readOnly: true
  {{- end }}
- name: container-logs
  mountPath: /var/log/containers
  {{- if eq .logs "read" }}
  readOnly: true
  {{- end }}
- name: machine-id
  mountPath: /etc/machine-id
  readOnly: true
{{- with .root.Values.node.signingKeyFile }}
- name: signing-key
  mountPath: {{ . }}
  readOnly: true
{{- end }}
{{- end -}}

{{- define "fleetgc.runtimeMount" -}}
- name: runtime
  mountPath: {{ .socketDirectory }}
{{- end -}}
