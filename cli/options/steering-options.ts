import { z } from 'zod';
import { onEmbeddedLog, optionText, resumeCommand } from '../../packages/policy/ending-commands.ts';
import { TextList, WholeNumber, withMeta } from '../../packages/process/options/options.ts';
import type { Doing } from '../../packages/records/doing.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import { ApprovedKind, MAX_APPROVAL_MS, WrittenText } from '../../schemas/policy/approval.ts';
import type { NodeSelector } from '../../schemas/policy/policy.ts';
import { selectorConditions } from '../../schemas/policy/policy-sections.ts';
import { DurationMs } from '../../schemas/policy/quantity.ts';
import type { HeldProof } from '../../schemas/reports/policy-list.ts';
import type { EventLogChoice } from './event-log-options.ts';

/** Who does it, and why, for the audit trail. */
export const doingOptions = {
  reason: withMeta(WrittenText.prefault(''), {
    commandLineOnly: true,
    placeholder: 'TEXT',
    description: 'Reason, for the audit trail.',
  }),
  by: withMeta(WrittenText.optional(), {
    commandLineOnly: true,
    placeholder: 'NAME',
    description: 'Who does it; USER of the environment when not given. What proves it is the signature.',
  }),
};

export const doing = (
  { by, reason }: { readonly by: string | undefined; readonly reason: string },
  { environment }: { readonly environment: Readonly<Record<string, string | undefined>> },
): Doing => ({ by: by ?? environment.USER ?? '', reason });

const SHORTEST_MS = 60_000;

/** What a person has to know where no signature proves what is held. */
export const NOT_PROVED: Readonly<Record<Exclude<HeldProof, 'signed'>, string>> = {
  unsigned:
    'No key of the cluster signed what is reported as held: anyone with the Kafka credentials of the role cluster or operator could have written it. The approval still binds kind, namespace, name and uid',
  'not-checked':
    'Signatures are not checked here, so what is reported as held is not proved. The approval still binds kind, namespace, name and uid',
};

/** What is approved, and for how long. */
export const approvalOptions = {
  cluster: withMeta(ClusterName, {
    positional: true,
    placeholder: 'CLUSTER',
    description: 'Name of the cluster.',
  }),
  what: withMeta(z.string().min(1), {
    positional: true,
    placeholder: 'NAME',
    description: 'The uid of an owner, a kind, or a rule and a kind, as "fleetgc held" tells it.',
  }),
  as: withMeta(ApprovedKind.optional(), {
    commandLineOnly: true,
    description: 'What the name means, where it means several; "fleetgc held" tells it too.',
  }),
  objects: withMeta(WholeNumber.optional(), {
    commandLineOnly: true,
    placeholder: 'NUMBER',
    description: 'How many objects you saw; nothing is approved if there are more by now.',
  }),
  shown: withMeta(
    z
      .string()
      .regex(/^[0-9a-f]{16}$/, { error: 'must be 16 hexadecimal digits, as "fleetgc held" prints them' })
      .optional(),
    {
      commandLineOnly: true,
      placeholder: 'MARK',
      description:
        'What you saw, as "fleetgc held" marks it; nothing is approved if the owner, the objects or the rule are others by now.',
    },
  ),
  for: withMeta(
    DurationMs.refine((ms) => ms >= SHORTEST_MS && ms <= MAX_APPROVAL_MS, {
      error: 'must be at least 1m and at most 720h',
    }).prefault('1h'),
    { commandLineOnly: true, placeholder: 'DURATION', description: 'How long it is in force: 1m to 720h.' },
  ),
  ...doingOptions,
};

/** The same command for this log, to be typed in a shell. */
export const onEventLog = (
  command: string,
  { log, logPath }: Pick<EventLogChoice, 'log' | 'logPath'>,
): string => (log === 'embedded' ? onEmbeddedLog(command, logPath) : command);

/** Which nodes `pause` and `resume` are about; without any of these, all of them. */
export const pauseSelectorOptions = {
  cluster: withMeta(TextList.pipe(selectorConditions.clusters).optional(), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'NAME,…',
    description: 'Only these clusters: what is collected in them, and their nodes.',
  }),
  nodeName: withMeta(TextList.pipe(selectorConditions.nodeNames).optional(), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'GLOB,…',
    description: 'Only nodes whose name matches one of these patterns.',
  }),
  pool: withMeta(TextList.pipe(selectorConditions.pools).optional(), {
    kind: 'list',
    commandLineOnly: true,
    placeholder: 'NAME,…',
    description: 'Only nodes of these pools, by their label fleetgc.io/pool.',
  }),
};

type Given = { readonly [Key in keyof typeof pauseSelectorOptions]?: string[] | undefined };

export const toPauseSelector = ({ cluster = [], nodeName = [], pool = [] }: Given): NodeSelector => ({
  clusters: cluster,
  nodeNames: nodeName,
  pools: pool,
  nodeLabels: {},
});

/** The command that ends the pause of these nodes on this log, to be typed in a shell. */
export const resumeOnEventLog = (
  selector: NodeSelector,
  { log, logPath }: Pick<EventLogChoice, 'log' | 'logPath'>,
): string =>
  [
    resumeCommand(selector),
    ...(log === 'embedded' ? ['--log embedded', ...optionText('--log-path', [logPath])] : []),
  ].join(' ');
