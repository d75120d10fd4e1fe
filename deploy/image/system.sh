#!/bin/sh
# Makes the lower layer of the image in the folder $1: Node without its symbols, the libraries that it is linked with, and
# the few files that programs expect of a system. The image has no shell and no package manager: what is not there needs
# no update, and serves no intruder.
set -eu
root=$1

node=$(command -v node)
install -D -m 755 "$node" "$root/usr/local/bin/node"
strip "$root/usr/local/bin/node"

mkdir -p "$root/var/lib/dpkg/status.d"
for library in $(ldd "$node" | grep -o '/[^ ]*'); do
  install -D -m 755 "$library" "$root$library"
  # The distribution may list its files by the folders that /lib and /lib64 lead to.
  package=$(dpkg -S "$library" 2>/dev/null || dpkg -S "/usr$library")
  package=${package%%:*}
  # Here scanners for vulnerabilities look in an image without a package manager.
  dpkg-query -s "$package" >"$root/var/lib/dpkg/status.d/$package"
  install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done
install -D -m 644 /etc/os-release "$root/etc/os-release"

cat >"$root/etc/passwd" <<END
root:x:0:0:root:/:/sbin/nologin
rowlock:x:1000:1000:Rowlock:/var/lib/rowlock:/sbin/nologin
END
cat >"$root/etc/group" <<END
root:x:0:
rowlock:x:1000:
END

chmod -R u=rwX,go=rX "$root"
# Whoever runs the server, by `docker run --user` or as a cluster decides, can write the embedded database.
install -d -m 1777 "$root/tmp" "$root/var/lib/rowlock"
