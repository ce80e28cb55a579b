import { z } from 'zod';
import { ClusterName, NodeName } from '../../../schemas/identity.ts';
import type { PolicySet } from '../../../schemas/policy.ts';
import { type EffectivePolicy, effectivePolicy } from '../../policy/effective.ts';
import { effectiveLines } from '../../policy/effective-text.ts';
import { toPolicyRecord } from '../../policy/policy-changes.ts';
import { readStoredPolicies } from '../../policy/stored-policies.ts';
import { type LogOptions, logOptions } from '../../shared/option-groups.ts';
import { Labels, TextList, withMeta } from '../../shared/option-types.ts';
import { formatResult, outputOptions } from '../../shared/output.ts';
import { policySet } from '../../shared/policy-set.ts';
import { defineVerb, type VerbContext } from '../../shared/verb.ts';
import { LOCAL_CLUSTER } from '../local-cluster.ts';
import { loadPolicyFiles, requireValid } from '../policy-files.ts';
import { warnOfUnreadable } from '../policy-warnings.ts';
import { openTaskLog } from '../task-log.ts';
import { about } from '../verb-list.ts';

const commandLineOnly = true;

export const policyEffective = defineVerb({
  ...about('policy effective'),
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
    ...outputOptions,
    ...logOptions('kafka'),
  }),
  run: async ({ node, cluster, label, policy: files, output, ...log }, context) => {
    const set = files === undefined ? await storedSet(log, context) : writtenSet(files, context);
    const standard = files === undefined && log.log === 'embedded' ? LOCAL_CLUSTER : '';
    const effective = effectivePolicy(
      set,
      { cluster: cluster ?? standard, node, nodeLabels: label ?? {} },
      { isApplied: files === undefined },
    );
    context.print(
      formatResult(output, { value: effectiveValue(effective), lines: effectiveLines(effective) }),
    );
    if (label === undefined && failsByLabel(effective))
      context.logger.info('Which labels the node has is only known from --label, and none was given.');
  },
});

async function storedSet(options: LogOptions, context: VerbContext): Promise<PolicySet> {
  await using log = await openTaskLog({ options, context });
  const stored = await readStoredPolicies(log, context.signal);
  warnOfUnreadable(stored, context.logger);
  return stored.set;
}

const writtenSet = (files: readonly string[], { logger }: VerbContext): PolicySet =>
  policySet(
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
