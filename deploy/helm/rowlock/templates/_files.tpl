{{/*
Every file that a setting names. A file is an environment variable and a path below /etc/rowlock at once, so none is
named without being there. All of them are one volume, which Kubernetes replaces as a whole when a Secret changes.
Lists are JSON, as templates return only text.
*/}}

{{/* The files by which a server or a command logs in to the database. `password` is a value such as database.password. */}}
{{- define "rowlock.databaseFiles" -}}
{{- if .root.Values.sqlite.enabled -}}
[]
{{- else -}}
{{- $tls := .root.Values.database.tls -}}
{{- $own := $tls.certificate.secret -}}
{{- include "rowlock.named" (list
  (dict "env" "ROWLOCK_DATABASE_PASSWORD_FILE" "path" "database/password" "from" .password)
  (dict "env" "ROWLOCK_DATABASE_CA" "path" "database/ca.crt" "from" $tls.ca)
  (dict "env" "ROWLOCK_DATABASE_CERT" "path" "database/tls.crt" "from" (dict "secret" $own "key" "tls.crt"))
  (dict "env" "ROWLOCK_DATABASE_KEY" "path" "database/tls.key" "from" (dict "secret" $own "key" "tls.key"))
) -}}
{{- end -}}
{{- end }}

{{/* All files of a server. */}}
{{- define "rowlock.serverFiles" -}}
{{- $certificate := include "rowlock.certificate" . -}}
{{- $policy := .Values.access.policyFile -}}
{{- if .Values.access.policy -}}
{{- $policy = dict "configMap" (printf "%s-policy" (include "rowlock.fullname" .)) "key" "policy.yaml" -}}
{{- end -}}
{{- $database := include "rowlock.databaseFiles" (dict "root" . "password" .Values.database.password) | fromJsonArray -}}
{{- include "rowlock.named" (concat $database (list
  (dict "env" "ROWLOCK_TLS_CERT" "path" "tls/tls.crt" "from" (dict "secret" $certificate "key" "tls.crt"))
  (dict "env" "ROWLOCK_TLS_KEY" "path" "tls/tls.key" "from" (dict "secret" $certificate "key" "tls.key"))
  (dict "env" "ROWLOCK_TLS_CLIENT_CA" "path" "tls/client-ca.crt" "from" .Values.tls.clientCa)
  (dict "env" "ROWLOCK_TLS_CLIENT_CRL" "path" "tls/client-ca.crl" "from" .Values.tls.clientCrl)
  (dict "env" "ROWLOCK_TOKENS_FILE" "path" "access/tokens" "from" .Values.access.tokens)
  (dict "env" "ROWLOCK_JWT_KEYS" "path" "access/jwt-keys.json" "from" .Values.access.jwtKeys)
  (dict "env" "ROWLOCK_POLICY_FILE" "path" "access/policy.yaml" "from" $policy)
  (dict "env" "ROWLOCK_METRICS_TOKEN_FILE" "path" "metrics/token" "from" .Values.metrics.token)
)) -}}
{{- end }}

{{/* Those of a list that come from a Secret or a ConfigMap. */}}
{{- define "rowlock.named" -}}
{{- $named := list -}}
{{- range . -}}
{{- if or .from.secret .from.configMap -}}
{{- $named = append $named . -}}
{{- end -}}
{{- end -}}
{{- toJson $named -}}
{{- end }}

{{- define "rowlock.fileEnv" -}}
{{- range fromJsonArray . }}
- name: {{ .env }}
  value: /etc/rowlock/{{ .path }}
{{- end }}
{{- end }}

{{/* Only the user and the group of the server may read the files. */}}
{{- define "rowlock.fileVolume" -}}
- name: files
  projected:
    defaultMode: 0440
    sources:
      {{- range fromJsonArray . }}
      - {{ ternary "secret" "configMap" (not (empty .from.secret)) }}:
          name: {{ default .from.configMap .from.secret }}
          items:
            - key: {{ .from.key }}
              path: {{ .path }}
      {{- end }}
{{- end }}

{{- define "rowlock.fileMount" -}}
- name: files
  mountPath: /etc/rowlock
  readOnly: true
{{- end }}
