import { z } from 'zod';
import { TextList, withMeta } from '../../../packages/process/options/options.ts';
import { COLLECTOR_ACCOUNT, guardManifests } from '../../../services/cluster/access/guard.ts';
import { manifestOptions } from '../../framework/output.ts';
import { defineVerb } from '../../framework/verb.ts';
import { chosenClusterPolicy, clusterPolicyOptions } from '../../options/policy-files.ts';
import { manifestText } from '../../views/undo.ts';

export const verb = defineVerb({
  help: [
    "Prints a ValidatingAdmissionPolicy for clusters in which the collector of kube-controller-manager cannot be switched off. It denies that collector the deletion of the policy's heldKinds, of what is on its keep list, and of what has the annotation fleetgc.io/keep, itself or its namespace. Nothing is changed: kubectl apply -f - puts it into force.",
    'It sees one object at a time. So it holds no wide cascade, and knows nothing of how an owner went (S1, S3, S4, S6). It works only where kube-controller-manager runs with --use-service-account-credentials; docs/operating/clusters.md says how to see that.',
  ],
  examples: [
    'fleetgc cluster guard --policy clusters.yaml | kubectl apply -f -',
    'fleetgc cluster guard --policy clusters.yaml --cluster prod --output json',
  ],
  options: z.object({
    ...clusterPolicyOptions,
    user: withMeta(TextList.prefault(COLLECTOR_ACCOUNT), {
      kind: 'list',
      commandLineOnly: true,
      placeholder: 'USER,…',
      description: 'Whom deletions are denied, as the API server knows the user.',
    }),
    ...manifestOptions,
  }),
  run: async ({ user, output, ...choice }, { logger, write }) => {
    const { policy } = chosenClusterPolicy(choice, logger);
    const remark = `Denies ${user.join(', ')} the deletion of what policy ${policy.name} holds by kind or keeps.`;
    await write(`${manifestText(output, guardManifests(user, policy), [remark])}\n`);
  },
});
