{{/*
What is wrong with values that are each well-formed: all of it at once, as Helm stops at the first failure. What one
value may be is in values.schema.json, which Helm checks before.
*/}}
{{- define "rowlock.refuseFaults" -}}
{{- $faults := include "rowlock.faults" . | fromJsonArray -}}
{{- if $faults -}}
{{- $count := ternary "one of the values is" (printf "%d of the values are" (len $faults)) (eq (len $faults) 1) -}}
{{- fail (printf "\n\nRowlock cannot be installed: %s wrong.\n  - %s\n" $count (join "\n  - " $faults)) -}}
{{- end -}}
{{- end }}

{{- define "rowlock.faults" -}}
{{- $v := .Values -}}
{{- $isTls := or $v.tls.secret $v.tls.certManager.enabled -}}
{{- $faults := list -}}

{{- if not $v.image.repository -}}
{{- $faults = append $faults "image.repository is empty: build the image from Rowlock's Dockerfile, push it to your registry, and name it here." -}}
{{- end -}}

{{- if and $v.database.url $v.sqlite.enabled -}}
{{- $faults = append $faults "database.url and sqlite.enabled are both set: keep one." -}}
{{- else if not (or $v.database.url $v.sqlite.enabled) -}}
{{- $faults = append $faults "There is no database: set database.url to that of your MySQL or MariaDB, such as mysql://rowlock@db.example:3306/rowlock, or sqlite.enabled=true for one server that keeps all in a file." -}}
{{- end -}}
{{- range $name, $url := dict "database.url" $v.database.url "migration.url" $v.migration.url -}}
{{- if $url -}}
{{- if regexMatch "^(mysql|mariadb)://[^@/]*:[^@/]*@" $url -}}
{{- $faults = append $faults (printf "%s has a password: leave it out, put it into a Secret, and name that in %s.secret." $name (replace "url" "password" $name)) -}}
{{- else if not (regexMatch "^(mysql|mariadb)://[^@/]+@[^@/]+/[^@/]+$" $url) -}}
{{- $faults = append $faults (printf "%s is %q: write mysql://USER@HOST:PORT/DATABASE." $name $url) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.database.tls.systemAuthorities (or $v.database.tls.ca.secret $v.database.tls.ca.configMap) -}}
{{- $faults = append $faults "database.tls.ca and database.tls.systemAuthorities are both set: keep one." -}}
{{- end -}}

{{- if $v.sqlite.enabled -}}
{{- if gt (int $v.replicas) 1 -}}
{{- $faults = append $faults (printf "replicas is %d and sqlite.enabled is true: an SQLite file has one server, so set replicas=1, or use MySQL or MariaDB." (int $v.replicas)) -}}
{{- end -}}
{{- if eq $v.migration.at "job" -}}
{{- $faults = append $faults "migration.at is job and sqlite.enabled is true: only the server may open its file, so set migration.at=start." -}}
{{- end -}}
{{- if eq $v.stateFile.keptBy "claim" -}}
{{- $faults = append $faults "stateFile.keptBy is claim and sqlite.enabled is true: an SQLite file is restored with its server stopped, so run `rowlock restored` then, and set stateFile.keptBy=pod." -}}
{{- end -}}
{{- end -}}

{{- if and $v.tls.secret $v.tls.certManager.enabled -}}
{{- $faults = append $faults "tls.secret and tls.certManager.enabled are both set: keep one." -}}
{{- end -}}
{{- if and $isTls $v.tls.plaintext -}}
{{- $faults = append $faults "tls.plaintext is true, and there is a certificate: set tls.plaintext=false, or remove the certificate." -}}
{{- else if not (or $isTls $v.tls.plaintext) -}}
{{- $faults = append $faults "There is no certificate: set tls.secret to a Secret of the type kubernetes.io/tls, or tls.certManager.enabled=true, or, where everybody in the network may read and change everything, tls.plaintext=true." -}}
{{- end -}}
{{- if and $v.tls.certManager.enabled (not $v.tls.certManager.issuer.name) -}}
{{- $faults = append $faults "tls.certManager.issuer.name is empty: name the Issuer or ClusterIssuer that signs the certificate." -}}
{{- end -}}
{{- if and (not $isTls) (or $v.tls.clientCa.secret $v.tls.clientCa.configMap) -}}
{{- $faults = append $faults "tls.clientCa is set without a certificate of the server: set tls.secret or tls.certManager.enabled." -}}
{{- end -}}
{{- if and (or $v.tls.clientCrl.secret $v.tls.clientCrl.configMap) (not (or $v.tls.clientCa.secret $v.tls.clientCa.configMap)) -}}
{{- $faults = append $faults "tls.clientCrl is set, and no client has to show a certificate: set tls.clientCa." -}}
{{- end -}}
{{- if and (not $isTls) $v.metrics.tls -}}
{{- $faults = append $faults "metrics.tls is true without a certificate: set tls.secret or tls.certManager.enabled, or metrics.tls=false." -}}
{{- end -}}

{{- $isJwt := get $v.settings "ROWLOCK_JWT_ISSUER" -}}
{{- $isByToken := or $v.access.tokens.secret $isJwt -}}
{{- $isByCertificate := ne (get $v.settings "ROWLOCK_CERTIFICATE_NAMES" | default "off") "off" -}}
{{- if and $isByToken (not $isTls) (not (get $v.settings "ROWLOCK_ALLOW_PLAINTEXT_TOKENS")) -}}
{{- $faults = append $faults "Callers have tokens, and there is no certificate: whoever listens can use the tokens, so set tls.secret or tls.certManager.enabled, or settings.ROWLOCK_ALLOW_PLAINTEXT_TOKENS=true." -}}
{{- end -}}
{{- if and (or $v.access.policy $v.access.policyFile.secret $v.access.policyFile.configMap) (not (or $isByToken $isByCertificate)) -}}
{{- $faults = append $faults "There is a policy, and callers have no way to prove who they are: set access.tokens.secret, or settings.ROWLOCK_JWT_ISSUER and ROWLOCK_JWT_AUDIENCE, or settings.ROWLOCK_CERTIFICATE_NAMES." -}}
{{- end -}}
{{- if and $isByCertificate (not (or $v.tls.clientCa.secret $v.tls.clientCa.configMap)) -}}
{{- $faults = append $faults "settings.ROWLOCK_CERTIFICATE_NAMES is set, and no client has to show a certificate: set tls.clientCa." -}}
{{- end -}}
{{- if and $v.access.policy (or $v.access.policyFile.secret $v.access.policyFile.configMap) -}}
{{- $faults = append $faults "access.policy and access.policyFile are both set: keep one." -}}
{{- end -}}
{{- $keys := or $v.access.jwtKeys.secret $v.access.jwtKeys.configMap -}}
{{- if and $keys (get $v.settings "ROWLOCK_JWT_KEYS") -}}
{{- $faults = append $faults "access.jwtKeys and settings.ROWLOCK_JWT_KEYS are both set: keep one." -}}
{{- end -}}

{{- range $name, $file := dict
  "database.tls.ca" $v.database.tls.ca
  "tls.ca" $v.tls.ca
  "tls.clientCa" $v.tls.clientCa
  "tls.clientCrl" $v.tls.clientCrl
  "access.jwtKeys" $v.access.jwtKeys
  "access.policyFile" $v.access.policyFile
-}}
{{- if and $file.secret $file.configMap -}}
{{- $faults = append $faults (printf "%s has a secret and a configMap: keep one." $name) -}}
{{- end -}}
{{- end -}}

{{- if and $v.networkPolicy.enabled $v.metrics.serviceMonitor.enabled (not $v.networkPolicy.scrapers) -}}
{{- $faults = append $faults "metrics.serviceMonitor.enabled is true, and the network policy admits nobody to the metrics: name the namespace and the pods of your Prometheus in networkPolicy.scrapers." -}}
{{- end -}}

{{- $fullname := include "rowlock.fullname" . -}}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $fullname) -}}
{{- $faults = append $faults (printf "Everything would be called %q, and Kubernetes takes for a Service only a name of small letters, digits and hyphens that begins with a letter: set fullnameOverride." $fullname) -}}
{{- end -}}

{{- range $value, $path := dict "metrics.rules.enabled" "files/alerts.yml" "metrics.dashboard.enabled" "files/dashboard.json" -}}
{{- $isWanted := ternary $v.metrics.rules.enabled $v.metrics.dashboard.enabled (eq $value "metrics.rules.enabled") -}}
{{- if and $isWanted (not ($.Files.Get $path)) -}}
{{- $faults = append $faults (printf "%s is true, and the chart lacks %s, a link that was lost when the chart was copied: pack it by `helm package` in a checkout of Rowlock, and install that file." $value $path) -}}
{{- end -}}
{{- end -}}
{{- toJson $faults -}}
{{- end }}

{{/* The ports of the database's addresses. */}}
{{- define "rowlock.databasePorts" -}}
{{- $hosts := regexReplaceAll "^[a-z]+://[^@/]*@([^/]*)/.*$" .Values.database.url "${1}" -}}
{{- $ports := list -}}
{{- range splitList "," $hosts -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default "3306" | int) -}}
{{- end -}}
{{- uniq $ports | toJson -}}
{{- end }}
