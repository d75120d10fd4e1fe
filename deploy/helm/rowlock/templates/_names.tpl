{{/* The name of everything that belongs to this release. */}}
{{- define "rowlock.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $whole .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "rowlock.headless" -}}
{{ include "rowlock.fullname" . }}-headless
{{- end }}

{{/* What the pods of the servers are selected by. It must never change: a Deployment refuses that. */}}
{{- define "rowlock.selector" -}}
{{ include "rowlock.release" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "rowlock.release" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of all objects; jobs add a component, so that no Service sends calls to their pods. */}}
{{- define "rowlock.labels" -}}
{{ include "rowlock.release" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | trunc 63 | trimAll "-_." | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "rowlock.image" -}}
{{- with .Values.image -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end }}

{{/* The Secret with the server's certificate and key; empty: plain text. */}}
{{- define "rowlock.certificate" -}}
{{- if .Values.tls.certManager.enabled -}}
{{ include "rowlock.fullname" . }}-tls
{{- else -}}
{{ .Values.tls.secret }}
{{- end -}}
{{- end }}

{{/* Where those who connect find the authority of that certificate. */}}
{{- define "rowlock.serverCa" -}}
{{- $ca := .Values.tls.ca -}}
{{- if not (or $ca.secret $ca.configMap) -}}
{{- $ca = dict "secret" (include "rowlock.certificate" .) "key" "ca.crt" -}}
{{- end -}}
{{- toJson $ca -}}
{{- end }}

{{/* The name by which clients in the cluster reach the servers, and which a certificate of cert-manager has. */}}
{{- define "rowlock.host" -}}
{{ include "rowlock.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* Whole seconds of a setting such as 500ms or 2m, rounded up. */}}
{{- define "rowlock.seconds" -}}
{{- $number := regexFind "^[0-9]+" . | int64 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- if eq $unit "ms" -}}
{{ div (add $number 999) 1000 }}
{{- else -}}
{{ mul $number (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) $unit) }}
{{- end -}}
{{- end }}

{{/* A value as the environment wants it. Helm reads a large number as 5e+07. */}}
{{- define "rowlock.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end }}

{{/* Not empty: some setting lets callers prove who they are. */}}
{{- define "rowlock.asksWhoCalls" -}}
{{- $settings := .Values.settings -}}
{{- $byCertificate := ne (get $settings "ROWLOCK_CERTIFICATE_NAMES" | default "off") "off" -}}
{{- if or .Values.access.tokens.secret (get $settings "ROWLOCK_JWT_ISSUER") $byCertificate -}}
yes
{{- end -}}
{{- end }}

{{/* Not empty: the pod of `helm test` has all that the servers ask of a client. */}}
{{- define "rowlock.isTestable" -}}
{{- $v := .Values -}}
{{- $asksWho := include "rowlock.asksWhoCalls" . -}}
{{- $asksCertificate := or $v.tls.clientCa.secret $v.tls.clientCa.configMap -}}
{{- $hasCertificate := $v.test.certificate.secret -}}
{{- if and (or (not $asksCertificate) $hasCertificate) (or (not $asksWho) $v.test.token.secret $hasCertificate) -}}
yes
{{- end -}}
{{- end }}

{{/* The port for calls over HTTP, if the settings open one. */}}
{{- define "rowlock.httpPort" -}}
{{- regexFind "[0-9]+$" (default "" .Values.settings.ROWLOCK_HTTP_LISTEN) -}}
{{- end }}
