import { clusterRemovedId } from '../../../packages/decision/result-ids.ts';
import { MANIFEST_FORM, type WithManifest } from '../../../packages/kube-api/manifest.ts';
import type { ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import type { LiveObject } from '../../../packages/kube-api/read.ts';
import { apiVersionOf } from '../../../packages/owner-graph/kinds.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import { exceededBound } from '../../../packages/records/parse/json-bounds.ts';
import { kindName, type ServedKind } from '../../../schemas/events/cluster-objects.ts';
import {
  type ClusterRemoved,
  MANIFEST_BOUNDS,
  MAX_MANIFEST_BYTES,
  MAX_OWNERS_SAVED,
  type ManifestLeftOut,
  type SavedAs,
} from '../../../schemas/events/cluster-removed.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import type { LiveReads } from './live-reads.ts';
import { type Conflict, failed, later, type Order, type Stop, settled, stopBy } from './order.ts';
import type { ExecutorPorts } from './ports.ts';
import { PROOF_HOLDS_MS } from './proofs.ts';

/** What is to be saved, and what for. */
interface ToSave {
  readonly order: Order;
  readonly policy: ClusterPolicy;
  readonly kind: ServedKind;
  readonly reads: LiveReads;
}

/** How long an event log that did not take it is left alone. */
const LOG_WAIT_MS = 5_000;

/**
 * Saves an object on the event log in the very state that is deleted next, where the policy wants that; `null` where it lies there, or
 * nobody wants it. What cannot be saved is not deleted.
 */
export async function saveManifest(
  { order, policy, kind, reads }: ToSave,
  object: ObjectMetadata,
  rehearse: boolean,
  ports: ExecutorPorts,
): Promise<Stop | Conflict | null> {
  if (policy.undo !== 'manifest' || order.savedVersion === object.resourceVersion) return null;
  const startedAtMs = ports.nowMs();
  const because = leftOut(kind, policy);
  const saved: SavedAs | Stop | Conflict =
    because === null ? await manifestOf(kind, object, reads) : { as: 'name', because };
  if ('kind' in saved) return saved;
  if (rehearse) return null;
  try {
    await ports.save(removedOf(order, kind, object, saved, ports), order.received.trace);
  } catch (thrown) {
    return untaken(thrown);
  }
  order.savedVersion = object.resourceVersion;
  const sinceMs = Math.min(startedAtMs, reads.provedSinceMs);
  return ports.nowMs() - sinceMs < PROOF_HOLDS_MS ? null : tooSlow();
}

/** Of groups that hold tokens and passwords by their purpose, or whole Secrets. */
const SECRET_GROUPS: readonly string[] = ['oauth.openshift.io', 'template.openshift.io'];

/** By its name in whatever group: what is called so holds what a Secret holds. */
function leftOut(kind: ServedKind, { undoExcept = [] }: ClusterPolicy): ManifestLeftOut | null {
  if (kind.kind === 'Secret' || SECRET_GROUPS.includes(kind.group)) return 'secret';
  return undoExcept.includes(kindName(kind)) ? 'excepted' : null;
}

async function manifestOf(
  kind: ServedKind,
  object: ObjectMetadata,
  reads: LiveReads,
): Promise<SavedAs | Stop | Conflict> {
  const found = await wholeOf(kind, object, reads);
  if (found.kind !== 'found') return found;
  const { uid, resourceVersion, manifest } = found.object;
  if (uid !== object.uid) return settled({ outcome: 'not-found' });
  if (resourceVersion !== object.resourceVersion)
    return { kind: 'conflict', message: 'it changed before it was saved' };
  if (manifest.kind === 'unreadable') return notSaved(manifest.message);
  if (manifest.of.kind !== kind.kind || manifest.of.apiVersion !== apiVersionOf(kind))
    return notSaved(`the API server answered with a ${manifest.of.kind} of ${manifest.of.apiVersion}`);
  if (exceededBound(manifest.text, MANIFEST_BOUNDS) !== null)
    return notSaved('its lists and maps are too many, or too deep');
  const bytes = Buffer.byteLength(JSON.stringify(manifest.text));
  return bytes <= MAX_MANIFEST_BYTES
    ? { as: 'manifest', manifest: manifest.text }
    : notSaved(`it takes ${bytes} bytes, and ${MAX_MANIFEST_BYTES} are the most that is saved`);
}

async function wholeOf(kind: ServedKind, object: ObjectMetadata, reads: LiveReads): Promise<Whole | Stop> {
  try {
    const found = await reads.whole({ kind, named: object }, MANIFEST_FORM);
    if (found.kind === 'found') return found;
    if (found.kind === 'absent') return settled({ outcome: 'not-found' });
    return found.answer.status === 200 ? notSaved(found.message) : stopBy(found.answer, kind, object);
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (error.code !== 'API_ANSWER_TOO_LARGE') throw thrown;
    return notSaved(error.message);
  }
}

type Whole = Extract<LiveObject<WithManifest>, { kind: 'found' }>;

function removedOf(
  { command, item }: Order,
  kind: ServedKind,
  object: ObjectMetadata,
  saved: SavedAs,
  ports: ExecutorPorts,
): ClusterRemoved {
  const { uid, resourceVersion, namespace, name } = object;
  const { identity, connection, nowMs } = ports;
  const { clusterInstance } = identity;
  return {
    type: 'fleetgc.cluster.removed',
    version: 1,
    id: clusterRemovedId({ clusterInstance, commandId: command.id }, object),
    ...identity,
    at: connection.clock.instantAt(nowMs()),
    commandId: command.id,
    decisionId: command.decisionId,
    object: { ...kind, namespace: kind.namespaced ? namespace : '', name, uid, resourceVersion },
    rule: item.rule,
    owners: object.ownerReferences
      .slice(0, MAX_OWNERS_SAVED)
      .map((owner) => ({ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid })),
    saved,
  };
}

/** What cannot be saved now cannot be saved later. */
const notSaved = (why: string): Stop => failed({ reason: 'not-saved', message: notSavedText(why) });

/** What the event log does not take now it may take later. */
function untaken(thrown: unknown): Stop {
  const { retry, message } = toFleetGcError(thrown);
  return retry ? later('not-saved', notSavedText(message), LOG_WAIT_MS) : notSaved(message);
}

const notSavedText = (why: string): string =>
  `it stays, since the policy says undo: manifest and it could not be saved: ${why}`;

/** What was proved of its owners is too old by now. */
const tooSlow = (): Conflict => ({
  kind: 'conflict',
  message: 'to save it took long, so it is judged again',
});
