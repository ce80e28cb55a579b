import { FilePath, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { readKeyFile } from '../../packages/trust/key-file.ts';
import { readTrustRoots } from '../../packages/trust/roots-file.ts';
import type { HeadSigner } from '../../services/audit/archive/sign-head.ts';

/** For whoever signs what an archive is. */
export const archiveSigningOptions = {
  trustRoots: withMeta(FilePath.optional(), {
    description: 'File of the roots, for --signing-key-file; "fleetgc keys roots" writes it.',
  }),
  signingKeyFile: withMeta(FilePath.optional(), {
    description:
      'Private key of role archiver, PKCS #8 PEM, which others cannot read: it signs at the end of each pass what the archive is.',
  }),
};

export interface ArchiveSigning {
  readonly trustRoots?: string | undefined;
  readonly signingKeyFile?: string | undefined;
}

/** `null` where nobody is to sign. Throws `CONFIG_INVALID` and `KEY_UNUSABLE`. */
export function archiveSigner(
  { trustRoots, signingKeyFile }: ArchiveSigning,
  needs: Omit<HeadSigner, 'roots' | 'key'>,
): HeadSigner | null {
  if (trustRoots === undefined && signingKeyFile === undefined) return null;
  if (trustRoots === undefined || signingKeyFile === undefined)
    throw configError(['--signing-key-file and --trust-roots go together: the archiver signs with both']);
  return { ...needs, roots: readTrustRoots(trustRoots), key: readKeyFile(signingKeyFile) };
}
