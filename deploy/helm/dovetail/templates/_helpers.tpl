{{- define "dovetail.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "dovetail.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}

{{- define "dovetail.workNamespace" -}}
{{- .Values.controlPlane.workNamespace | default .Release.Namespace -}}
{{- end -}}

{{/* What selects the pods of a part: list of the context and the name of the part. */}}
{{- define "dovetail.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "dovetail.labels" -}}
{{- $root := index . 0 -}}
{{ include "dovetail.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{- define "dovetail.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The settings of the server: it knows the names of its Service, without which it refuses requests to them, and a
backend of kind kubernetes without a kubeconfig is this cluster. */}}
{{- define "dovetail.settings" -}}
{{- $settings := deepCopy .Values.controlPlane.settings -}}
{{- $name := include "dovetail.fullname" . -}}
{{- $names := list $name -}}
{{- range $end := list "" ".svc" ".svc.cluster.local" -}}
{{- $names = append $names (printf "%s.%s%s" $name $.Release.Namespace $end) -}}
{{- end -}}
{{- $listen := $settings.listen | default dict -}}
{{- $all := concat $names ($listen.names | default list) | uniq -}}
{{- $_ := set $settings "listen" (dict "names" $all "tls" ($listen.tls | default "self-signed")) -}}
{{- if .Values.controlPlane.tokenSecret -}}
{{- $_ := set $settings "access" (dict "token_file" "/etc/dovetail-token/token") -}}
{{- end -}}
{{- $here := dict "namespace" (include "dovetail.workNamespace" .) "owner" ($name | trunc 20 | trimSuffix "-") -}}
{{- range $key, $backend := $settings.backends -}}
{{- if and (eq (toString $backend.kind) "kubernetes") (not $backend.kubeconfig) -}}
{{- $_ := set $settings.backends $key (merge $backend $here) -}}
{{- end -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{/* Where the pods of a part go: its values. */}}
{{- define "dovetail.placing" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
