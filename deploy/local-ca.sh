#!/bin/sh
# A certificate for a network without the internet: local-ca.sh NAME FOLDER
#
# Makes an authority (ca.pem, ca.key) in FOLDER, unless there is one, and a certificate for NAME that it signs
# (server.pem, server.key). Give ca.pem to the browsers; keep ca.key off the server.
set -eu
if [ $# -ne 2 ]; then
  echo "usage: local-ca.sh NAME FOLDER" >&2
  exit 2
fi
name=$1
mkdir -p "$2"
cd "$2"
umask 077
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
case $name in
  *[!0-9.:]*) kind=DNS ;;
  *) kind=IP ;;
esac
if [ ! -f ca.key ]; then
  # shellcheck disable=SC2086
  openssl req -x509 $key -sha256 -days 3650 -subj "/CN=Turia local authority" -keyout ca.key -out ca.pem \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" 2> /dev/null
fi
# shellcheck disable=SC2086
openssl req $key -subj "/CN=$name" -keyout server.key -out server.csr 2> /dev/null
printf '%s\n' "subjectAltName=$kind:$name" "basicConstraints=CA:FALSE" "keyUsage=digitalSignature" \
  "extendedKeyUsage=serverAuth" > server.ext
# Browsers take none that are good for much more than a year.
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 397 -sha256 -extfile server.ext \
  -out server.pem 2> /dev/null
rm server.csr server.ext
chmod 644 ca.pem server.pem
echo "$2/server.pem: for $name, until $(openssl x509 -noout -enddate -in server.pem | cut -d= -f2)"
