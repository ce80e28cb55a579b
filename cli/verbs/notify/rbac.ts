import { z } from 'zod';
import { Text, withMeta } from '../../../packages/process/options/options.ts';
import { noticesManifests } from '../../../services/cluster/access/manifests.ts';
import { manifestOptions } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { manifestText } from '../../views/undo.ts';

export const verb = defineVerb({
  help: [
    'Prints what fleetgc notify needs to write Events on nodes, and no more: a service account that may create and patch Events in the namespace default, where Kubernetes keeps those about nodes. Nothing is changed: kubectl apply -f - puts it into force.',
  ],
  examples: [
    'fleetgc notify rbac | kubectl apply -f -',
    'fleetgc notify rbac --namespace fleetgc --output json',
  ],
  options: z.object({
    namespace: withMeta(Text.prefault('kube-system'), {
      commandLineOnly: true,
      placeholder: 'NAME',
      description: 'Namespace of the service account.',
    }),
    ...manifestOptions,
  }),
  run: async ({ namespace, output }, { write }) => {
    const remarks = ['Rights of fleetgc notify, as fleetgc notify rbac prints them.'];
    await write(`${manifestText(output, noticesManifests(namespace), remarks)}\n`);
  },
});
