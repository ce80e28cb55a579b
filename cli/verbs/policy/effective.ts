import { z } from 'zod';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { type EffectivePolicy, effectivePolicy } from '../../../packages/policy/effective.ts';
import { toPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import { readPoliciesBy } from '../../../packages/policy/stored-policies.ts';
import { Labels, TextList, withMeta } from '../../../packages/process/options/options.ts';
import { ClusterName, NodeName } from '../../../schemas/events/identity.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import { type PolicySet, policyKey } from '../../../schemas/policy/policy.ts';
import { LOCAL_CLUSTER } from '../../../services/node/this-machine.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { type EventLogChoice, eventLogOptions } from '../../options/event-log-options.ts';
import { loadPolicyFiles, requireValid } from '../../options/policy-files.ts';
import { readingTrustOptions, readReadingRoots } from '../../options/trust-options.ts';
import { effectiveLines, warnOfUnreadable } from '../../views/policies.ts';

const commandLineOnly = true;

export const verb = defineVerb({
  help: [
    'Chooses as the deciders do: pauses first, then priority, then name. For each value it says on which line of the policy it stands, or that it is a default. For every other policy it says why that one is not in force. With --policy it reads files instead of the event log, so you can try a change before you apply it.',
  ],
  examples: [
    'fleetgc policy effective --cluster prod --node web-1 --label role=web,fleetgc.io/pool=gpu',
    'fleetgc policy effective --node web-1 --policy policies.yaml -o json',
  ],
  options: z.object({
    node: withMeta(NodeName, {
      commandLineOnly,
      placeholder: 'NAME',
      description: 'Name of the node.',
    }),
    cluster: withMeta(ClusterName.optional(), {
      commandLineOnly,
      placeholder: 'NAME',
      description: 'Cluster of the node; with the embedded log the one that has no name of its own.',
    }),
    label: withMeta(Labels.optional(), {
      commandLineOnly,
      placeholder: 'NAME=VALUE,…',
      description: 'Labels the node was started with; its pool is the label fleetgc.io/pool.',
    }),
    policy: withMeta(TextList.optional(), {
      commandLineOnly,
      placeholder: 'FILE,…',
      description: 'Policy files to look at instead of the event log; - reads standard input.',
    }),
    ...readingTrustOptions,
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ node, cluster, label, policy: files, output, trustRoots, ...log }, context) => {
    const roots = readReadingRoots({ trustRoots });
    const set = files === undefined ? await storedSet(log, roots, context) : writtenSet(files, context);
    const standard = files === undefined && log.log === 'embedded' ? LOCAL_CLUSTER : '';
    const effective = effectivePolicy(
      set,
      { cluster: cluster ?? standard, node, nodeLabels: label ?? {} },
      { isApplied: files === undefined },
    );
    await printObjects(context, output, {
      value: effectiveValue(effective),
      lines: effectiveLines(effective),
      names: effective.record === null ? [] : [policyKey(effective.record)],
    });
    if (label === undefined && failsByLabel(effective))
      context.logger.info('Which labels the node has is only known from --label, and none was given.');
  },
});

async function storedSet(
  options: EventLogChoice,
  roots: TrustRoots | null,
  context: VerbContext,
): Promise<PolicySet> {
  await using log = await openTaskEventLog({ options, context });
  const stored = await readPoliciesBy(roots, log, context.signal);
  warnOfUnreadable(stored, context.logger);
  return stored.sets.node;
}

const writtenSet = (files: readonly string[], { logger }: VerbContext): PolicySet =>
  policySet(
    'node',
    requireValid(loadPolicyFiles(files), logger, 'nothing can be said of them').map(toPolicyRecord),
    [],
  );

/** For machines: the same, with policies by name. */
const effectiveValue = ({ record, version, otherPolicies, ...same }: EffectivePolicy) => ({
  ...same,
  policy:
    record === null
      ? null
      : {
          name: record.policy.name,
          priority: record.policy.priority,
          mode: record.policy.mode,
          profile: record.policy.profile,
          selector: record.policy.selector,
          version,
          hash: record.hash,
        },
  otherPolicies: otherPolicies.map(({ record: { policy, hash }, reason }) => ({
    name: policy.name,
    priority: policy.priority,
    hash,
    reason,
  })),
});

function failsByLabel({ otherPolicies, otherPauses }: EffectivePolicy): boolean {
  const unmet = [
    ...otherPauses.flatMap((other) => other.unmet),
    ...otherPolicies.flatMap(({ reason }) => (reason.kind === 'does-not-select' ? reason.unmet : [])),
  ];
  return unmet.some(({ setting }) => /^selector\.(pools|nodeLabels)/.test(setting));
}
