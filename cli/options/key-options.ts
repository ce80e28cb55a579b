import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { FilePath, Switch, Text, withMeta } from '../../packages/process/options/options.ts';
import { readPublicKey } from '../../packages/records/trust/key-pair.ts';
import { PublicKeyText } from '../../schemas/keys/key-statement.ts';
import { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { rootKeyOptions } from './trust-options.ts';

/** Whom to believe. */
export const trustRootsOption = {
  trustRoots: withMeta(FilePath, {
    description: 'File of the roots, whose keys say which other keys may sign what; "keys roots" writes it.',
  }),
};

/** For verbs that sign as a root, which may be a machine without a network. */
export const rootOptions = {
  ...trustRootsOption,
  ...rootKeyOptions,
  offline: withMeta(Switch.prefault('false'), {
    commandLineOnly: true,
    description:
      'Print the signed statement; "keys publish" brings it to the event log from another machine.',
  }),
};

export const PublicKeyArgument = withMeta(Text, {
  commandLineOnly: true,
  placeholder: 'KEY|FILE',
});

/** A public key as `keys create` prints it, or the name of a file that holds one. Throws `KEY_UNUSABLE`. */
export function publicKeyFrom(given: string): string {
  if (PublicKeyText.safeParse(given).success) return given;
  const file = readTextFile(given);
  if (file.ok) return readPublicKey(file.text, given);
  throw new FleetGcError(
    'KEY_UNUSABLE',
    `${JSON.stringify(given)} is neither a public key in base64 nor a file that can be read (${file.reason})`,
  );
}

export const FleetName = withMeta(TrustRoots.shape.fleet, {
  commandLineOnly: true,
  placeholder: 'NAME',
  description:
    'Name of the fleet; it is in every signature, so that what is signed for one fleet counts in no other.',
});
