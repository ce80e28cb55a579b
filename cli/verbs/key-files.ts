import { existsSync } from 'node:fs';
import { z } from 'zod';
import { FleetGcError } from '../../packages/process/errors.ts';
import { FilePath, Labels, Switch, withMeta } from '../../packages/process/options/options.ts';
import { createKeyPair, keyIdOf } from '../../packages/records/trust/key-pair.ts';
import { readKeyFile, writeKeyFile } from '../../packages/records/trust/private-key.ts';
import { trustRootsText } from '../../packages/records/trust/roots-file.ts';
import { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { outputOptions, printResult } from '../framework/output.ts';
import { defineVerb } from '../framework/verb.ts';
import { FleetName, publicKeyFrom } from '../options/trust-options.ts';

export const createVerb = defineVerb({
  help: [
    'The private key goes to a new file that only its user can read. The public key is printed: give it to whoever has a root, who certifies it for a role. Until then nobody believes what the key signs.',
    'With --keep-existing a key that is there already stays, and its public key is printed: for what runs again and again, and for a public key that got lost.',
  ],
  examples: [
    'fleetgc keys create decider.pem',
    'fleetgc keys create root.pem --output json',
    'fleetgc keys create decider.pem --keep-existing',
  ],
  options: z.object({
    file: withMeta(FilePath, {
      positional: true,
      description: 'File for the private key, PKCS #8 PEM; without --keep-existing it must not be there yet.',
    }),
    keepExisting: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'If the file is there already, leave it and print the public key of what it holds.',
    }),
    ...outputOptions,
  }),
  run: async ({ file, keepExisting, output }, { write, logger }) => {
    const isKept = keepExisting && existsSync(file);
    const publicKey = isKept ? readKeyFile(file).publicKey : createKeyFile(file);
    const value = { keyId: keyIdOf(publicKey), publicKey, privateKeyFile: file };
    await printResult({ write }, output, { value, lines: [publicKey] });
    const where = isKept ? `was in ${file} already` : `is in ${file}`;
    logger.info(`The private key ${where}; it never has to leave this machine. Its id: ${value.keyId}`);
  },
});

/** Its public key. */
function createKeyFile(file: string): string {
  const { privateKeyPem, publicKey } = createKeyPair();
  writeKeyFile(file, privateKeyPem);
  return publicKey;
}

export const rootsVerb = defineVerb({
  help: [
    'The file goes to every node and service, unchanged and readable by all: it holds no secret. It only changes when a root itself is replaced.',
  ],
  examples: ['fleetgc keys roots --fleet prod --root root-2026=root.pub > roots.yaml'],
  options: z.object({
    fleet: FleetName,
    root: withMeta(Labels, {
      kind: 'list',
      commandLineOnly: true,
      placeholder: 'NAME=KEY|FILE,…',
      description: 'A root: a name for people, and its public key or the file that holds it.',
    }),
  }),
  run: async ({ fleet, root }, { write }) => {
    const roots = Object.entries(root).map(([name, given]) => ({ name, publicKey: publicKeyFrom(given) }));
    const { success, data, error } = TrustRoots.safeParse({ fleet, roots });
    if (!success) throw new FleetGcError('USAGE', z.prettifyError(error).split('\n'));
    await write(trustRootsText(data));
  },
});
