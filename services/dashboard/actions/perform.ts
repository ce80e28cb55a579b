import type { z } from 'zod';
import { approvalOfHeld, approvalsNamed, approve } from '../../../packages/actions/approve.ts';
import { endPauses, pauseTakesHold, pauseText } from '../../../packages/actions/pauses.ts';
import { compareChosen, redrive } from '../../../packages/actions/redrive.ts';
import type { LogPublisher, LogReader, OutgoingRecord } from '../../../packages/log/port.ts';
import { objectionToStating } from '../../../packages/policy/may-state.ts';
import { selectorText } from '../../../packages/policy/selector-text.ts';
import { readPoliciesBy, readStoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { deleteKeys, type PolicyWriter, writePause } from '../../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { approvalText, approvedText } from '../../../packages/read-model/holds.ts';
import { goesBack, readLettersNamed } from '../../../packages/read-model/letters.ts';
import { selectsNobodyText } from '../../../packages/read-model/policy-doubts.ts';
import type { Doing } from '../../../packages/records/doing.ts';
import { parseRecord, topicIdOf } from '../../../packages/records/parse/parse-record.ts';
import type { Principal } from '../../../packages/records/trust/trust.ts';
import { counted } from '../../../packages/text/counted.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { PolicyTopicRecord } from '../../../schemas/policy/policy.ts';
import { selects } from '../../../schemas/policy/policy-selection.ts';
import { durationText } from '../../../schemas/policy/value-text.ts';
import {
  DASHBOARD_ACTIONS,
  type DashboardAction,
  type DashboardActionDone,
  type DashboardActionName,
} from '../../../schemas/reports/dashboard-actions.ts';
import type { FleetNode } from '../../../schemas/reports/fleet-nodes.ts';

/** What an action is done with. */
interface Acting {
  readonly log: ActingLog;
  readonly writer: PolicyWriter;
  /** Whose signatures count; `null` where nobody checks them. */
  readonly roots: TrustRoots | null;
  /** As the page calls whoever does it; what they said is beside it. */
  readonly by: string;
  /** Those that were heard lately. */
  readonly nodes: readonly FleetNode[];
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

type Perform<Asked> = (asked: Asked, acting: Acting, signal: AbortSignal) => Promise<DashboardActionDone>;

/** An action of the page: `perform` gets what was checked by `schema`. */
interface Action {
  readonly schema: z.ZodType<{ readonly id: string }>;
  readonly perform: Perform<unknown>;
}

const action = <Schema extends z.ZodType<{ readonly id: string }>>(
  schema: Schema,
  perform: Perform<z.infer<Schema>>,
): Action => ({
  schema,
  perform: (asked, acting, signal) => perform(schema.parse(asked), acting, signal),
});

const doingOf = ({ reason }: Pick<Doing, 'reason'>, { by }: Acting): Doing => ({ by, reason });

async function pause(
  { selector, reason }: DashboardAction<'pause'>,
  acting: Acting,
  signal: AbortSignal,
): Promise<DashboardActionDone> {
  await writePause(acting.writer, selector, doingOf({ reason }, acting));
  const { nodes } = acting;
  const isForNobody = nodes.length > 0 && !nodes.some((node) => selects(selector, node));
  return {
    text: `paused: ${selectorText(selector)}`,
    notes: [
      pauseTakesHold(await readStoredPolicies(acting.log, signal)),
      ...(isForNobody ? [selectsNobodyText(selector, nodes.map(nodeKey))] : []),
    ],
  };
}

async function resume(
  { selector, reason }: DashboardAction<'resume'>,
  acting: Acting,
  signal: AbortSignal,
): Promise<DashboardActionDone> {
  const stored = await readStoredPolicies(acting.log, signal);
  const request = selector === null ? ({ kind: 'all' } as const) : ({ kind: 'one', selector } as const);
  const ended = await endPauses(acting.writer, stored, request, doingOf({ reason }, acting));
  if (ended.kind === 'ended')
    return {
      text: ended.pauses.size === 0 ? 'nothing is paused' : 'resumed',
      notes: [...ended.pauses].map(pauseText),
    };
  if (ended.error !== null) throw ended.error;
  return {
    text: 'nothing is paused',
    notes: ended.isWritten ? ['The end of this pause was written all the same.'] : [],
  };
}

const NOT_PROVED =
  'No signature proves what is reported as held there. The approval binds kind, namespace, name and uid.';

async function approveHeld(
  { cluster, name, as, objects, shown, forMs, reason }: DashboardAction<'approve'>,
  acting: Acting,
  signal: AbortSignal,
): Promise<DashboardActionDone> {
  const { log, writer, roots, nowMs } = acting;
  const stored = await readStoredPolicies(log, signal);
  const policies = (await readPoliciesBy(roots, log, signal)).sets.cluster;
  const request = { cluster, name, as, objects, shown };
  const doing = doingOf({ reason }, acting);
  const approving = { request, policies, roots, forMs, doing, nowMs };
  const { approval, proof } = await approvalOfHeld(log, approving, signal);
  await approve(writer, stored, approval);
  return {
    text: `approved: ${approvalText(approval)}`,
    notes: [
      `It is in force for ${durationText(forMs)}. What goes, goes as soon as its agent has read this.`,
      ...(proof === 'signed' ? [] : [NOT_PROVED]),
    ],
  };
}

async function withdraw(
  { cluster, name, as, reason }: DashboardAction<'withdraw'>,
  acting: Acting,
  signal: AbortSignal,
): Promise<DashboardActionDone> {
  const found = approvalsNamed(await readStoredPolicies(acting.log, signal), { cluster, name, as });
  await deleteKeys(acting.writer, [...found.keys()], doingOf({ reason }, acting));
  return {
    text: `withdrawn: ${[...found.values()].map(({ what }) => approvedText(what)).join('; ')} in cluster ${cluster}`,
    notes: ['What is being removed at this moment still goes.'],
  };
}

async function redriveLetters(
  { letters: ids, again, reason }: DashboardAction<'redrive'>,
  acting: Acting,
  signal: AbortSignal,
): Promise<DashboardActionDone> {
  const { log, writer } = acting;
  const chosen = await readLettersNamed(log, ids, signal);
  const { confirmed, done, refused } = await compareChosen(chosen, { log, again }, signal);
  const count = await redrive(confirmed, {
    log,
    publication: writer.publication,
    doing: doingOf({ reason }, acting),
    signal,
    onProgress: () => undefined,
  });
  return {
    text: `${counted(count, 'message')} put back`,
    notes: [
      ...(done.length === 0 ? [] : [`${done.length} put back before and left alone now`]),
      ...refused.map(({ letter, reason: why }) => `${letter.id} is not put back: ${why}`),
    ],
  };
}

/** Each by the functions of its verb. */
export const ACTIONS: Readonly<Record<DashboardActionName, Action>> = {
  pause: action(DASHBOARD_ACTIONS.pause, pause),
  resume: action(DASHBOARD_ACTIONS.resume, resume),
  approve: action(DASHBOARD_ACTIONS.approve, approveHeld),
  withdraw: action(DASHBOARD_ACTIONS.withdraw, withdraw),
  redrive: action(DASHBOARD_ACTIONS.redrive, redriveLetters),
};

/** What its key is certified for, also where nobody asks for keys. */
const A_DASHBOARD: Principal = {
  kind: 'key',
  keyId: '0'.repeat(32),
  role: 'dashboard',
  clusters: [],
  generation: null,
};

/** Why nobody may write this from the page, in a sentence; `null` where they may. */
function objectionToActing(record: OutgoingRecord): string | null {
  const id = topicIdOf(record.topic);
  switch (id) {
    case 'policies':
    case 'policyVersions':
      return objectionToState(id, record);
    case 'deadLetters':
      return isRedrive(record) ? null : 'it is no note that a message was put back';
    default:
      // Byte for byte what lay there before: `compareOriginals`.
      return goesBack(id) ? null : `messages of ${record.topic} are not written from the page`;
  }
}

const onLog = (record: OutgoingRecord) => ({ ...record, partition: 0, offset: 0n, timestampMs: 0 });

function objectionToState(id: 'policies' | 'policyVersions', record: OutgoingRecord): string | null {
  const parsed = parseRecord(id, onLog(record));
  if (!parsed.ok) return parsed.rejection.message;
  if (parsed.event.type === 'fleetgc.policy-set') return 'it is a set of policies';
  const event: PolicyTopicRecord = parsed.event;
  return objectionToStating(A_DASHBOARD, event);
}

function isRedrive(record: OutgoingRecord): boolean {
  const parsed = parseRecord('deadLetters', onLog(record));
  return parsed.ok && parsed.event.type === 'fleetgc.dead-letter-redrive';
}

/** What acting needs of a log. */
export type ActingLog = LogReader & LogPublisher;

/** The same log, which takes nothing but what people may do from the page, whatever the code above it does. */
export const onlyActs = (log: ActingLog): ActingLog => ({
  read: (request, signal) => log.read(request, signal),
  publish: async (records) => {
    for (const record of records) {
      const objection = objectionToActing(record);
      if (objection !== null)
        throw new FleetGcError('INTERNAL', `nothing was written from the page: ${objection}`);
    }
    return await log.publish(records);
  },
});
