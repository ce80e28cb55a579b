import type { HeadSigner } from '../../packages/archive/sign-head.ts';
import type { Command } from '../../packages/process/command-output.ts';
import { FilePath, Switch, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { readPrivateKey } from '../../packages/records/trust/private-key.ts';
import { readTrustRoots } from '../../packages/records/trust/roots-file.ts';
import { privateKeySource, signingKeyOptions } from './private-key-options.ts';

/** For whoever signs what an archive is. */
export const archiveSigningOptions = {
  trustRoots: withMeta(FilePath.optional(), {
    description: 'File of the roots, for the key that signs; "fleetgc keys roots" writes it.',
  }),
  ...signingKeyOptions,
  signFound: withMeta(Switch.prefault('false'), {
    commandLineOnly: true,
    description:
      'Sign also what was in the archive before, under no head, and that the event log has no more. Once, and when you know that nobody else wrote to it: for an archive that was never signed, or after the archiver was away for longer than the event log keeps records.',
  }),
};

export interface ArchiveSigning {
  readonly trustRoots?: string | undefined;
  readonly signingKeyFile?: string | undefined;
  readonly signingKeyCommand?: Command | undefined;
  readonly signFound: boolean;
}

/**
 * `null` where nobody is to sign. The key is read now, so that a wrong one is told at once, and again in each pass. Throws
 * `CONFIG_INVALID` and `KEY_UNUSABLE`.
 */
export async function archiveSigner(
  { trustRoots, signingKeyFile, signingKeyCommand, signFound }: ArchiveSigning,
  needs: Omit<HeadSigner, 'roots' | 'readKey' | 'signsFound'>,
  signal: AbortSignal,
): Promise<HeadSigner | null> {
  const source = privateKeySource(signingKeyFile, signingKeyCommand, 'signingKeyFile');
  if (trustRoots === undefined && source === null) return null;
  if (trustRoots === undefined || source === null) throw configError([TOGETHER]);
  await readPrivateKey(source, signal);
  return {
    ...needs,
    roots: readTrustRoots(trustRoots),
    readKey: (pass) => readPrivateKey(source, pass),
    signsFound: signFound,
  };
}

const TOGETHER =
  '--trust-roots goes together with --signing-key-file or --signing-key-command: the archiver signs with both';
