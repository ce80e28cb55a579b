#!/bin/sh
# Makes the keys of the compose example, and certifies them. It runs at each "docker compose up": keys that are there are kept,
# certificates are made anew. For trying out only: in production a root is on a machine without a network, and each key is made
# where it is used (docs/operating/keys.md).
set -eu
# Root may write here, and the group of those who sign may read; nobody else is let in.
umask 027

fleetgc() { /opt/fleetgc/bin/fleetgc "$@"; }

root=$(fleetgc keys create /etc/fleetgc/root/root.pem --keep-existing)
fleetgc keys roots --fleet compose --root "try-out=$root" > "$FLEETGC_TRUST_ROOTS.new"
mv "$FLEETGC_TRUST_ROOTS.new" "$FLEETGC_TRUST_ROOTS"

for role in decider operator; do
  file=/etc/fleetgc/$role/$role.pem
  key=$(fleetgc keys create "$file" --keep-existing)
  chmod g+r "$file"
  fleetgc keys certify "$key" --role "$role" --name "$role" --valid-for 90d --root-key-file /etc/fleetgc/root/root.pem
done
