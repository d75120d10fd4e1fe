{{/* What the pods of servers, jobs and tests have in common. */}}

{{- define "rowlock.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "rowlock.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where pods may run, and as what. */}}
{{- define "rowlock.placement" -}}
automountServiceAccountToken: false
# Rowlock looks nothing up in the variables that Kubernetes makes of services.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $.Values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- include "rowlock.podSecurity" . | nindent 2 }}
{{- end }}

{{/*
How a server or a command reaches the database: `url`, and `password` as in rowlock.databaseFiles. An SQLite file is on
the volume `data`.
*/}}
{{- define "rowlock.databaseEnv" -}}
- name: ROWLOCK_DATABASE_URL
  value: {{ ternary "sqlite:/var/lib/rowlock/rowlock.db" .url .root.Values.sqlite.enabled | quote }}
{{- if .root.Values.database.url }}
{{- with .root.Values.database.tls }}
{{- if .systemAuthorities }}
- name: ROWLOCK_DATABASE_CA
  value: system
{{- end }}
{{- if not .verifyName }}
- name: ROWLOCK_DATABASE_VERIFY_NAME
  value: "false"
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "rowlock.dataMount" -}}
- name: data
  mountPath: /var/lib/rowlock
{{- end }}

{{- define "rowlock.dataVolume" -}}
- name: data
  persistentVolumeClaim:
    claimName: {{ default (printf "%s-data" (include "rowlock.fullname" .)) .Values.sqlite.existingClaim }}
{{- end }}

{{/* The pod of a command that works on the database and ends: `args`, and `url` and `password` as above. */}}
{{- define "rowlock.databaseJobPod" -}}
{{- $files := include "rowlock.databaseFiles" . -}}
restartPolicy: Never
{{ include "rowlock.placement" .root }}
containers:
  - name: rowlock
    image: {{ include "rowlock.image" .root }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: {{ toJson .args }}
    env:
      {{- include "rowlock.databaseEnv" . | nindent 6 }}
      {{- with include "rowlock.fileEnv" $files }}
      {{- . | trim | nindent 6 }}
      {{- end }}
    securityContext:
      {{- include "rowlock.containerSecurity" . | nindent 6 }}
    resources:
      {{- toYaml .root.Values.resources | nindent 6 }}
    volumeMounts:
      {{- if ne $files "[]" }}
      {{- include "rowlock.fileMount" . | nindent 6 }}
      {{- end }}
      {{- if .root.Values.sqlite.enabled }}
      {{- include "rowlock.dataMount" . | nindent 6 }}
      {{- end }}
volumes:
  {{- if ne $files "[]" }}
  {{- include "rowlock.fileVolume" $files | nindent 2 }}
  {{- end }}
  {{- if .root.Values.sqlite.enabled }}
  {{- include "rowlock.dataVolume" .root | nindent 2 }}
  {{- end }}
{{- end }}
