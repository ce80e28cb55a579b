import type { Holder } from '../../../schemas/command.ts';
import { type KeepRules, keepMatcher, unpullableBecause } from '../../../schemas/image-pattern.ts';
import type { CompleteInventory, ImageUser, InventoryImage } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Facts, Kept } from '../../shared/decision/conclusion.ts';
import { backingOff, listedTwice } from '../../shared/decision/listing.ts';
import { keptNamespaceOf } from './kept-namespaces.ts';
import { keptVersions } from './kept-versions.ts';
import { usersIn } from './users.ts';

/** Why one image may not go, however full the disk is. */
export interface Protection extends Kept {
  readonly holder: Holder['reason'];
}

type Protect = (image: InventoryImage) => Protection | undefined;

/** What images are looked through for. */
export interface Purpose {
  /** By age (E) or to make room (D, F). */
  readonly step: 'age' | 'space';
  /** A command holds none that failed lately (M33); a plan of what the kubelet would do tries it again. */
  readonly isForCommand: boolean;
}

/**
 * Compiles what protects the images of one inventory; the first that applies is the reason that the record names. The
 * kubelet asks neither for pods that are starting and sandboxes nor, by age, for the minimum age.
 */
export function protections(
  inventory: CompleteInventory,
  policy: Policy,
  { step, isForCommand }: Purpose,
): Protect {
  const takenAtMs = inventory.takenAt.wallTimeMs;
  const isKubelet = policy.profile === 'kubelet';
  const doubtful = unbelieved(inventory.images, takenAtMs);
  const asked: readonly Protect[] = [
    inUse(inventory, policy),
    pinned,
    ...keptByPolicy(inventory, policy, doubtful),
    doubtful,
    ...(isKubelet && step === 'age'
      ? []
      : [usedSince(takenAtMs), tooYoung(takenAtMs, policy.imageMinimumGCAgeMs)]),
    ...(isKubelet && !isForCommand ? [] : [triedLately(takenAtMs)]),
  ];
  return (image) => {
    for (const protect of asked) {
      const protection = protect(image);
      if (protection) return protection;
    }
    return undefined;
  };
}

const protection = (holder: Holder['reason'], rule: string, facts: Facts): Protection => ({
  holder,
  rule,
  facts,
});

/** What each kind of user stands on: containers C8, pods that still want the image M5, sandboxes and their image M9. */
const RULE_OF_USER: Readonly<Record<ImageUser['kind'], string>> = {
  container: 'C8',
  pod: 'M5',
  sandbox: 'M9',
  'sandbox-image': 'M9',
};

function inUse(inventory: CompleteInventory, policy: Policy): Protect {
  const { usersOf, isNotOurs } = usersIn(inventory, policy.profile);
  return (image) => {
    const users = usersOf(image);
    const user = users.find((candidate) => !isNotOurs(candidate)) ?? users[0];
    if (!user) return undefined;
    const facts = { users: users.length, user: `${user.kind} ${user.id}` };
    return isNotOurs(user)
      ? protection('not-ours', 'M41', facts)
      : protection('in-use', RULE_OF_USER[user.kind], facts);
  };
}

const pinned: Protect = (image) => (image.pinned ? protection('pinned', 'D7', { pinned: true }) : undefined);

/** What the policy's keep list says (M11). */
function keptByPolicy(inventory: CompleteInventory, { keep }: Policy, doubtful: Protect): Protect[] {
  const { namespaces, lastVersions } = keep;
  return [
    ...(isEmpty(keep) ? [] : [byList('keptBy', keepMatcher(keep))]),
    ...(namespaces.length === 0 ? [] : [byList('keptNamespace', keptNamespaceOf(inventory, namespaces))]),
    ...(lastVersions === 0 ? [] : [keptVersion(inventory, lastVersions, doubtful)]),
    ...(keep.unpullable ? [unpullable] : []),
  ];
}

const isEmpty = ({ patterns, digests, labels }: KeepRules): boolean =>
  patterns.length + digests.length + Object.keys(labels).length === 0;

function keptVersion({ images }: CompleteInventory, lastVersions: number, doubtful: Protect): Protect {
  const believed = images.filter((image) => doubtful(image) === undefined);
  const versions = keptVersions(believed, lastVersions);
  return byList('keptVersionOf', ({ id }) => versions.get(id));
}

const byList =
  (fact: string, entryOf: (image: InventoryImage) => string | undefined): Protect =>
  (image) => {
    const entry = entryOf(image);
    return entry === undefined ? undefined : protection('kept-by-list', 'M11', { [fact]: entry });
  };

/** Nobody knows where to pull it from again (M11), or that it ever was (M12). */
const unpullable: Protect = (image) => {
  const { repoDigests, origin } = image;
  const unpullableAs = unpullableBecause(image);
  if (unpullableAs !== undefined) {
    const facts = { unpullable: unpullableAs, repoDigests: repoDigests.length };
    return protection('no-digest', 'M11', facts);
  }
  return origin === undefined ? undefined : protection('no-digest', 'M12', { origin });
};

function unbelieved(images: readonly InventoryImage[], takenAtMs: number): Protect {
  const twice = listedTwice(images.map(({ id }) => id));
  return ({ id, firstDetectedMs }) => {
    if (twice.has(id)) return protection('not-believed', 'C5', { listedTwice: true });
    return firstDetectedMs > takenAtMs
      ? protection('not-believed', 'M2', { firstDetectedMs, takenAtMs })
      : undefined;
  };
}

const usedSince =
  (takenAtMs: number): Protect =>
  ({ lastUsedMs }) =>
    lastUsedMs !== null && lastUsedMs >= takenAtMs
      ? protection('too-young', 'D9', { lastUsedMs, takenAtMs })
      : undefined;

const tooYoung =
  (takenAtMs: number, minimumAgeMs: number): Protect =>
  ({ firstDetectedMs }) => {
    const ageMs = takenAtMs - firstDetectedMs;
    return ageMs < minimumAgeMs ? protection('too-young', 'D10', { ageMs, minimumAgeMs }) : undefined;
  };

const triedLately =
  (takenAtMs: number): Protect =>
  ({ backoff }) => {
    const kept = backingOff(backoff, takenAtMs);
    return kept && { ...kept, holder: 'backing-off' };
  };
