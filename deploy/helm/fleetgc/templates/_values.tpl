{{/* What values have to be, in words that name the value and what to write. Each helper fails, or gives nothing. */}}

{{/* A quantity of Kubernetes as a number; empty where it is none. */}}
{{- define "fleetgc.amount" -}}
{{- $text := toString . -}}
{{- if regexMatch "^[0-9]{1,15}(\\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2}|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$" $text -}}
{{- $unit := regexFind "[a-zA-Z]+$" $text -}}
{{- $units := dict "" 1.0 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 -}}
{{- mulf (trimSuffix $unit $text | float64) (get $units $unit) -}}
{{- end -}}
{{- end -}}

{{/* Bytes: path, value. Less than 1Mi is a unit that was forgotten, or "m", which are thousandths. */}}
{{- define "fleetgc.checkBytes" -}}
{{- $amount := include "fleetgc.amount" .value -}}
{{- if or (not $amount) (and (lt (float64 $amount) 1048576.0) (ne (float64 $amount) 0.0)) -}}
{{- fail (printf "%s is %q, which is no such number of bytes: write a number with a unit, such as 512Mi or 2Gi" .path (toString .value)) -}}
{{- end -}}
{{- end -}}

{{/* Requests or limits of one container: path, amounts. */}}
{{- define "fleetgc.checkAmounts" -}}
{{- $path := .path -}}
{{- range $name, $value := .amounts -}}
{{- $at := printf "%s.%s" $path $name -}}
{{- if not (regexMatch "^(cpu|memory|ephemeral-storage|hugepages-.+|[a-z0-9.-]+/.+)$" $name) -}}
{{- fail (printf "%s: there is no such resource: write cpu, memory, ephemeral-storage, or one with its domain, such as example.com/device" $at) -}}
{{- else if eq $name "cpu" -}}
{{- if not (regexMatch "^[0-9]{1,6}(\\.[0-9]{1,3})?m?$" (toString $value)) -}}
{{- fail (printf "%s is %q, which is no number of cores: write 2 for two cores, 250m for a quarter of one" $at (toString $value)) -}}
{{- end -}}
{{- else if has $name (list "memory" "ephemeral-storage") -}}
{{- include "fleetgc.checkBytes" (dict "path" $at "value" $value) -}}
{{- else if not (include "fleetgc.amount" $value) -}}
{{- fail (printf "%s is %q, which is no quantity: write a number, such as 1 or 2Mi" $at (toString $value)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Resources of one container: path, resources. */}}
{{- define "fleetgc.checkResources" -}}
{{- $path := .path -}}
{{- $requests := .resources.requests | default dict -}}
{{- $limits := .resources.limits | default dict -}}
{{- include "fleetgc.checkAmounts" (dict "path" (printf "%s.requests" $path) "amounts" $requests) -}}
{{- include "fleetgc.checkAmounts" (dict "path" (printf "%s.limits" $path) "amounts" $limits) -}}
{{- range $name, $limit := $limits -}}
{{- if and (hasKey $requests $name) (gt (include "fleetgc.amount" (get $requests $name) | float64) (include "fleetgc.amount" $limit | float64)) -}}
{{- fail (printf "%s: requests.%s %v is more than limits.%s %v, and the API server takes no such pod: raise the limit, or ask for less" $path $name (get $requests $name) $name $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The port of an address or a URL, if it has one: path, value, example. */}}
{{- define "fleetgc.checkPort" -}}
{{- $port := regexReplaceAll "^[a-z]+://" .value "" | splitList "/" | first | regexFind ":[0-9]+$" | trimPrefix ":" -}}
{{- if and $port (or (not (regexMatch "^[1-9][0-9]{0,4}$" $port)) (gt (int $port) 65535)) -}}
{{- fail (printf "%s is %q, whose port %s is none: ports go from 1 to 65535, as in %s" .path .value $port .example) -}}
{{- end -}}
{{- end -}}

{{/* How many pods may be away at once: path, value, what would never end, and what else to write. */}}
{{- define "fleetgc.checkMaxUnavailable" -}}
{{- $text := toString .value -}}
{{- if or (has $text (list "0" "0%" "00%" "000%")) (and (hasSuffix "%" $text) (gt (trimSuffix "%" $text | float64) 100.0)) -}}
{{- fail (printf "%s is %v, %s: write a number from 1, or a share from 1%% to 100%%%s" .path .value (hasPrefix "0" $text | ternary .never "and there are no more than all") .instead) -}}
{{- end -}}
{{- end -}}

{{/* From the least to the most replicas: path, scaling. */}}
{{- define "fleetgc.checkScaling" -}}
{{- if gt (int .scaling.minReplicas) (int .scaling.maxReplicas) -}}
{{- fail (printf "%s: minReplicas %v is more than maxReplicas %v: give both, the smaller one as minReplicas" .path .scaling.minReplicas .scaling.maxReplicas) -}}
{{- end -}}
{{- end -}}

{{/* Every container of the chart that has resources of its own, by where its values are. */}}
{{- define "fleetgc.resources" -}}
{{- $found := dict "node.resources" .Values.node.resources "node.proxyResources" .Values.node.proxyResources -}}
{{- range $name := list "operator" "policyController" "dashboard" "notify" "deciders" "clusterDeciders" -}}
{{- $_ := set $found (printf "%s.resources" $name) (get $.Values $name).resources -}}
{{- end -}}
{{- range $name := list "agent" "executor" -}}
{{- $_ := set $found (printf "cluster.%s.resources" $name) (get $.Values.cluster $name).resources -}}
{{- end -}}
{{- range $group := list "deciders" "clusterDeciders" -}}
{{- $settings := get $.Values $group -}}
{{- range $name, $own := $settings.services -}}
{{- $pod := mergeOverwrite (deepCopy (pick $settings "resources")) (pick ($own | default dict) "resources") -}}
{{- $_ := set $found (printf "%s.services.%s.resources" $group $name) $pod.resources -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}
