import { z } from 'zod';
import { policySet } from '../../packages/decision/policy-set.ts';
import { approvalLine } from '../../packages/documents/held.ts';
import {
  changeLines,
  changeValues,
  effectiveLines,
  inOrderOfPrecedence,
  listLines,
} from '../../packages/documents/policies.ts';
import { tableLines } from '../../packages/documents/text.ts';
import { replaceFile } from '../../packages/files/open-file.ts';
import type { EffectivePolicy } from '../../packages/policy/effective.ts';
import { writtenClusterYaml, writtenYaml } from '../../packages/policy/file/written-form.ts';
import { policyChanges, toAnyPolicyRecord, toPolicyRecord } from '../../packages/policy/policy-changes.ts';
import {
  deletionOf,
  readPoliciesBy,
  readStoredPolicies,
  requireStored,
  type StoredApproval,
} from '../../packages/policy/stored-policies.ts';
import { unsignedProblem, warnOfUnreadable } from '../../packages/policy/unsigned-records.ts';
import {
  deleteKeys,
  deleteUnheld,
  digestOf,
  signAgain,
  type UnsignedState,
  unsignedStates,
  writePolicies,
} from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { unreadableReason } from '../../packages/process/options/named-file.ts';
import {
  FilePath,
  Labels,
  Switch,
  Text,
  TextList,
  withMeta,
} from '../../packages/process/options/options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { approvalsNow } from '../../packages/read-model/read-holds.ts';
import { createPublisher, serviceSource } from '../../packages/records/publisher.ts';
import type { TrustChoice } from '../../packages/records/trust/process-trust.ts';
import { signRecord } from '../../packages/records/trust/signature.ts';
import { signerOf, UNSIGNED } from '../../packages/records/trust/signer.ts';
import { linesText } from '../../packages/text/lines-text.ts';
import { printable } from '../../packages/text/printable.ts';
import { shortHash } from '../../packages/text/short-hash.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { ClusterName, NodeName, type SubjectKind } from '../../schemas/events/identity.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import { isPolicyFor, type PolicyRecordOf, type PolicySet, policyKey } from '../../schemas/policy/policy.ts';
import type { PolicyList } from '../../schemas/reports/policy-list.ts';
import { objectOptions, outputOptions, printObjects, printResult } from '../framework/output.ts';
import { loadAnyPolicyFiles, loadPolicyFiles, requireValid } from '../framework/policy-files.ts';
import { openPolicyWriter } from '../framework/policy-writer.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { type EventLogChoice, eventLogOptions } from '../options/event-log-options.ts';
import { policyFileOptions } from '../options/policy-options.ts';
import {
  readingTrustOptions,
  readOperatorTrust,
  readReadingRoots,
  signingOptions,
  writingOptions,
} from '../options/trust-options.ts';

export const applyVerb = defineVerb({
  help: [
    'A policy replaces the one of the same kind and name; other policies are left alone. If any of the files has a problem, or if nothing differs, nothing is written.',
  ],
  examples: [
    'fleetgc policy apply policy.yaml --dry-run',
    'fleetgc policy apply policies/*.yaml --kafka-brokers kafka:9092 --trust off',
  ],
  options: z.object({
    ...policyFileOptions,
    dryRun: withMeta(Switch.prefault('false'), { description: 'Say what would change, and change nothing.' }),
    ...objectOptions,
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ files, dryRun, output, ...log }, context) => {
    const { warnOfDoubts } = await import('../../packages/read-model/policy-doubts.ts');
    const { logger, write, signal } = context;
    const written = requireValid(loadAnyPolicyFiles(files), logger, 'nothing was applied');
    const trust = await readOperatorTrust(log, signal);
    await using eventLog = await openTaskEventLog({ options: log, context });
    const writer = await openPolicyWriter(eventLog, trust, context, log);
    const { policies } = await readStoredPolicies(eventLog, signal);
    const unsigned = await unsignedStates(eventLog, writer.signer.counts, signal);
    const uncounted = new Set(unsigned.map(({ key }) => key));
    const changes = policyChanges(written.map(toAnyPolicyRecord), policies, uncounted);
    if (!dryRun) await writePolicies(writer, changes);
    await printObjects({ write }, output, {
      value: { dryRun, changes: changeValues(changes) },
      lines: changeLines(changes, dryRun),
      names: changes.map(({ record }) => policyKey(record)),
    });
    if (dryRun) logger.info('Dry run: nothing was changed.');
    const applied = changes.map(({ record }) => ({
      record,
      before: policies.get(policyKey(record)) ?? null,
    }));
    await warnOfDoubts(applied, { log: eventLog, logger }, signal);
  },
});

export const listVerb = defineVerb({
  help: [
    'Lists them by precedence: of the policies that select a node, the first is in force. A pause outranks them all. Approvals in force are listed with their end.',
  ],
  examples: [
    'fleetgc policy list',
    'fleetgc policy list --trust-roots roots.yaml',
    'fleetgc policy list --output json',
  ],
  options: z.object({ ...readingTrustOptions, ...objectOptions, ...eventLogOptions('kafka') }),
  run: async ({ output, trustRoots, ...options }, context) => {
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const stored = await readPoliciesBy(roots, log, context.signal);
    warnOfUnreadable(stored, context.logger);
    if (stored.policies.size === 0)
      context.logger.info('There are no policies: every node keeps everything.');
    const approvals = approvalsNow(stored.approvals.values(), Date.now());
    const value: PolicyList = {
      type: 'fleetgc.policy-list',
      version: 1,
      pauses: [...stored.pauses.values()],
      policies: [...inOrderOfPrecedence(stored.policies.values())],
      approvals: [...approvals],
      unreadable: [...stored.unreadable],
    };
    await printObjects(context, output, {
      value,
      lines: listLines(stored, approvals, false),
      wideLines: listLines(stored, approvals, true),
      names: value.policies.map(policyKey),
    });
  },
});

const yamlOf = (record: PolicyRecordOf<SubjectKind>): string =>
  isPolicyFor('cluster', record) ? writtenClusterYaml(record.policy) : writtenYaml(record.policy);

/** Whether another policy goes before this one in a cluster is not looked at. */
const approvalsUnder = (
  record: PolicyRecordOf<SubjectKind>,
  approvals: Iterable<StoredApproval>,
): readonly StoredApproval[] => {
  if (!isPolicyFor('cluster', record)) return [];
  const { clusters } = record.policy.selector;
  return approvalsNow(approvals, Date.now()).filter(
    ({ cluster }) => clusters.length === 0 || clusters.includes(cluster),
  );
};

export const showVerb = defineVerb({
  help: [
    'Prints a policy file, which you can edit and apply. Of a policy for clusters it also tells the approvals that are in force where it may hold.',
  ],
  examples: [
    'fleetgc policy show web',
    'fleetgc policy show web --as-written',
    'fleetgc policy show cluster/web',
  ],
  options: z.object({
    name: withMeta(Text, {
      positional: true,
      placeholder: 'NAME',
      description: 'Name of the policy; cluster/NAME for one for clusters.',
    }),
    asWritten: withMeta(Switch.prefault('false'), {
      description: 'Show the text that was applied, with its comments and without defaults.',
    }),
    ...readingTrustOptions,
    ...objectOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ name, asWritten, trustRoots, output, ...options }, context) => {
    const roots = readReadingRoots({ trustRoots });
    await using log = await openTaskEventLog({ options, context });
    const all = await readPoliciesBy(roots, log, context.signal);
    const stored = requireStored(all, name);
    warnOfUnreadable(all, context.logger);
    const approvals = approvalsUnder(stored, all.approvals.values());
    const text = asWritten ? stored.source : yamlOf(stored);
    const remarks = [
      `# version ${stored.policyVersion}, applied ${timeText(stored.appliedAtMs)}, hash ${stored.hash}`,
      ...approvals.map((approval) => `# ${approvalLine(approval)}`),
    ];
    // A file to apply again: its lines and tabs are what its author wrote.
    if (output === 'table' || output === 'wide')
      return await context.write(`${linesText(remarks)}${printable(text.trimEnd())}\n`);
    await printObjects(context, output, {
      value: { ...stored, ...(isPolicyFor('cluster', stored) && { approvals }) },
      lines: remarks,
      names: [policyKey(stored)],
    });
  },
});

const commandLineOnly = true;

export const effectiveVerb = defineVerb({
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
    const { LOCAL_CLUSTER } = await import('../../services/node/this-machine.ts');
    const { effectivePolicy } = await import('../../packages/policy/effective.ts');
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

export const deleteVerb = defineVerb({
  help: [
    'On the nodes or clusters of a deleted policy the next one that selects them comes into force. Without a policy they keep everything.',
  ],
  examples: ['fleetgc policy delete web', 'fleetgc policy delete cluster/web'],
  options: z.object({
    names: withMeta(z.array(z.string()), {
      kind: 'list',
      positional: true,
      placeholder: 'NAME',
      description: 'Names of the policies; cluster/NAME for those for clusters.',
    }),
    ...writingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ names, ...options }, context) => {
    const trust = await readOperatorTrust(options, context.signal);
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context, options);
    const stored = await readStoredPolicies(log, context.signal);
    const deletion = deletionOf(stored, names);
    if (deletion.kind === 'not-stored') {
      await deleteUnheld(writer, deletion.notStored);
      if (deletion.notStored.length > 0) context.logger.info(deletionWritten(deletion.notStored));
      throw deletion.error;
    }
    const { keys } = deletion;
    await deleteKeys(writer, keys);
    for (const key of keys) context.print(`${key}: deleted`);
    context.logger.info(
      `The next policy that selects the same holds there now. Without any, everything is kept. Applied again, ${keys.length === 1 ? 'it' : 'each'} begins with version 1.`,
    );
  },
});

const deletionWritten = (names: readonly string[]): string =>
  `The deletion of ${names.map((name) => JSON.stringify(name)).join(', ')} was written to gc.policies all the same: services and nodes that remember such a policy of an earlier gc.policies let go of it when they read this.`;

const Digest = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hexadecimal digits' });

export const signVerb = defineVerb({
  help: [
    'For a fleet on its way to --trust required, and after a key was stolen: everything on gc.policies whose signature does not count is written again as it is, signed with your key. You sign what somebody else may have written: so look at it with --dry-run and "policy show" first, and give the digest that --dry-run printed. If anything has changed since, nothing is signed.',
    'Records that cannot be read are left alone; apply or delete them.',
  ],
  examples: [
    'fleetgc policy sign --dry-run --trust warn --trust-roots roots.yaml --signing-key-file ops.pem --kafka-brokers kafka:9092',
    'fleetgc policy sign --expect "$DIGEST" --trust warn --trust-roots roots.yaml --signing-key-file ops.pem --kafka-brokers kafka:9092',
  ],
  options: z.object({
    dryRun: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Say what would be signed, and write nothing.',
    }),
    expect: withMeta(Digest.optional(), {
      commandLineOnly: true,
      placeholder: 'SHA256',
      description: 'What --dry-run printed: exactly that is signed.',
    }),
    all: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description: 'Also what carries a signature that counts, for example after an old record was put back.',
    }),
    ...outputOptions,
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ dryRun, expect, all, output, ...options }, context) => {
    if (!dryRun && expect === undefined) throw new FleetGcError('USAGE', LOOK_FIRST);
    const trust = await readOperatorTrust(options, context.signal);
    if (trust.kind === 'off' || trust.signing === null) throw new FleetGcError('USAGE', NO_KEY);
    await using log = await openTaskEventLog({ options, context });
    const writer = await openPolicyWriter(log, trust, context);
    const counts = all ? () => false : writer.signer.counts;
    const states = await unsignedStates(log, counts, context.signal);
    const digest = digestOf(states);
    if (!dryRun) {
      if (digest !== expect) throw new FleetGcError('USAGE', CHANGED);
      await signAgain(writer, states);
    }
    const signed = states.map(({ key, kind, sha256 }) => ({ key, kind, sha256 }));
    if (output !== 'table' || states.length > 0)
      await printResult(context, output, { value: { dryRun, digest, signed }, lines: lines(states, digest) });
    context.logger.info(closing(states.length, dryRun));
  },
});

const LOOK_FIRST =
  'look with --dry-run first, and give the digest that it prints: --expect SHA256. You sign what somebody else may have written';
const NO_KEY = 'there is nothing to sign with; give --trust, --trust-roots and --signing-key-file';
const CHANGED =
  'gc.policies holds something else now than what --expect stands for. Nothing was signed; look again with --dry-run';

const lines = (states: readonly UnsignedState[], digest: string): readonly string[] => [
  ...tableLines(
    ['KEY', 'KIND', 'SHA256'],
    states.map(({ key, kind, sha256 }) => [key, kind, shortHash(sha256)]),
  ),
  `digest: ${digest}`,
];

function closing(count: number, dryRun: boolean): string {
  if (count === 0) return 'Everything on gc.policies carries a signature that counts.';
  return dryRun ? 'Dry run: nothing was signed.' : 'Signed. What they say has not changed.';
}

export const exportVerb = defineVerb({
  help: [
    'Writes one document of all policies, pauses and approvals in force, and of what the roots said of keys, for functions that follow no topic ("fleetgc serve --policy"). Each record stands in it as it lies on the event log, with its signature. An operator’s key signs the whole with its time: nothing can be left out of it, and an older one does not pass for a newer one.',
    'It is good for as long as --policy-max-age of the function says. So export again after every change, and by a timer.',
    'It also tells gc.policy-versions what the sets of policies consist of, so that "audit verify" can prove what functions decide under them.',
  ],
  examples: [
    'fleetgc policy export --file policies.jsonl --kafka-brokers kafka:9092 --trust off',
    'fleetgc policy export --file policies.jsonl --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --signing-key-file operator.pem',
  ],
  options: z.object({
    file: withMeta(FilePath.prefault('-'), {
      commandLineOnly: true,
      description: 'Where to write the document; - is stdout.',
    }),
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ file, ...given }, context) => {
    const { policySetOutput } = await import('../../packages/service/decision-writing.ts');
    const { exportDocument } = await import('../../packages/policy/policy-document.ts');
    const { logger, write, signal } = context;
    const trust = await readOperatorTrust(given, signal);
    await using log = await openTaskEventLog({ options: given, context });
    // Throws where nobody would believe the key.
    await openPolicyWriter(log, trust, context);
    const { sign, signer, roots } = signingOf(trust);
    const nowMs = systemSources.now();
    const exported = await exportDocument(log, { roots, sign, nowMs }, signal);
    const publisher = createPublisher({
      log,
      source: serviceSource('cli'),
      now: systemSources.now,
      ids: systemSources.traceIds,
      signer,
    });
    const unsigned = unsignedProblem(exported.signatures);
    if (unsigned !== null) logger.warn(`${unsigned}.`);
    const { node, cluster } = exported.sets;
    await publisher.publish([policySetOutput(node), policySetOutput(cluster)]);
    if (file === '-') await write(exported.text);
    else writeWhole(file, exported.text);
    const { keys, policies } = exported;
    logger.info({ policies, keys, nodeSet: node.hash, clusterSet: cluster.hash }, 'exported');
  },
});

function signingOf(trust: TrustChoice) {
  if (trust.kind === 'off' || trust.signing === null)
    return {
      roots: null,
      signer: UNSIGNED,
      sign:
        () =>
        <Head>(head: Head) =>
          head,
    };
  const { roots, signing } = trust;
  const { fleet } = roots;
  const { key, role } = signing;
  return {
    roots,
    signer: signerOf({ fleet, role, key: () => key }),
    sign: (generation: number) => (head: Parameters<typeof signRecord>[0]) =>
      signRecord(head, { fleet, key, generation }),
  };
}

/**
 * Whoever reads it meanwhile finds the old one or the new one, whole, also where two export at once. Nothing is written behind a link
 * that somebody laid there. Throws `STATE_UNWRITABLE`.
 */
function writeWhole(path: string, text: string): void {
  try {
    replaceFile(path, text, READ_BY_FUNCTIONS);
  } catch (cause) {
    throw new FleetGcError('STATE_UNWRITABLE', `${path} cannot be written: ${unreadableReason(cause)}`, {
      cause,
    });
  }
}

/** They run as other users, and policies are no secret. */
const READ_BY_FUNCTIONS = 0o644;
