import { z } from 'zod';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Labels, withMeta } from '../../../packages/process/options/options.ts';
import { trustRootsText } from '../../../packages/records/trust/roots-file.ts';
import { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { defineVerb } from '../../framework/verb.ts';
import { FleetName, publicKeyFrom } from '../../options/key-options.ts';

export const verb = defineVerb({
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
