import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { canInstall, install } from './apt.ts';
import { cacheDirectory } from './cache.ts';
import { run, succeeds } from './command.ts';
import { step } from './progress.ts';
import { debianImage } from './versions.ts';

const BOOTSTRAP_MS = 600_000;
const IMPORT_MS = 120_000;
const OWN_CERTIFICATES = '/usr/local/share/ca-certificates';
const CERTIFICATE_BUNDLE = '/etc/ssl/certs/ca-certificates.crt';

/** A minimal Debian under the public image's name, from Debian's own packages. */
export async function buildDebianStandIn(release: string): Promise<void> {
  const archive = join(cacheDirectory('rootfs'), `debian-${release}-${process.arch}.tar`);
  if (!existsSync(archive))
    await step(`building a root filesystem of Debian ${release}`, () => bootstrap(release, archive));
  // Programs that bring their own certificates (Node.js) must also believe in those of this machine's network.
  const change = hasOwnCertificates() ? ['--change', `ENV NODE_EXTRA_CA_CERTS=${CERTIFICATE_BUNDLE}`] : [];
  await run('docker', ['import', '--change', 'CMD ["bash"]', ...change, archive, debianImage(release)], {
    usualMs: IMPORT_MS,
  });
}

async function bootstrap(release: string, archive: string): Promise<void> {
  await ensureMmdebstrap(
    `the image ${debianImage(release)} cannot be pulled, and a stand-in needs mmdebstrap: make a registry reachable for the Docker Engine, or run as root on Debian or Ubuntu`,
  );
  const unfinished = `${archive}.${process.pid}.tar`;
  const own = [
    `--customize-hook=copy-in ${OWN_CERTIFICATES} /usr/local/share`,
    '--customize-hook=chroot "$1" update-ca-certificates',
  ];
  await run(
    'mmdebstrap',
    [
      '--variant=minbase',
      '--include=ca-certificates',
      ...(hasOwnCertificates() ? own : []),
      release,
      unfinished,
    ],
    { usualMs: BOOTSTRAP_MS },
  );
  renameSync(unfinished, archive);
}

/** Rejects with `otherwise` where packages cannot be had. */
export async function ensureMmdebstrap(otherwise: string): Promise<void> {
  if (await succeeds('mmdebstrap', ['--version'], 15_000)) return;
  if (!canInstall()) throw new Error(otherwise);
  await install(['mmdebstrap', 'debian-archive-keyring']);
}

function hasOwnCertificates(): boolean {
  return existsSync(OWN_CERTIFICATES) && readdirSync(OWN_CERTIFICATES).some((name) => name.endsWith('.crt'));
}
