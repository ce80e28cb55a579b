import type { Holder } from '../../../schemas/command.ts';
import { keepMatcher } from '../../../schemas/image-pattern.ts';
import type { CompleteInventory, ImageUser, InventoryImage } from '../../../schemas/inventory.ts';
import type { Policy } from '../../../schemas/policy.ts';
import type { Facts, Kept } from '../../shared/decision/conclusion.ts';
import { backingOff, listedTwice } from '../../shared/decision/listing.ts';

/** Why one image may not go, however full the disk is. */
export interface Protection extends Kept {
  readonly holder: Holder['reason'];
}

type Protect = (image: InventoryImage) => Protection | undefined;

/** Compiles what protects the images of one inventory; the first that applies is the reason that the record names. */
export function protections(inventory: CompleteInventory, policy: Policy): Protect {
  const takenAtMs = inventory.takenAt.wallTimeMs;
  const asked: readonly Protect[] = [
    inUse(inventory),
    pinned,
    keptByList(policy),
    withoutDigest,
    unbelieved(inventory.images, takenAtMs),
    usedSince(takenAtMs),
    tooYoung(takenAtMs, policy.imageMinimumGCAgeMs),
    triedLately(takenAtMs),
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

function inUse({ containers, sandboxes }: CompleteInventory): Protect {
  const notOurs = new Set(
    [...containers, ...sandboxes].filter(({ pod }) => pod === null).map(({ id }) => id),
  );
  const isNotOurs = ({ kind, id }: ImageUser) =>
    (kind === 'container' || kind === 'sandbox') && notOurs.has(id);
  return ({ usedBy }) => {
    const user = usedBy.find((candidate) => !isNotOurs(candidate)) ?? usedBy[0];
    if (!user) return undefined;
    const facts = { users: usedBy.length, user: `${user.kind} ${user.id}` };
    return isNotOurs(user)
      ? protection('not-ours', 'M41', facts)
      : protection('in-use', RULE_OF_USER[user.kind], facts);
  };
}

const pinned: Protect = (image) => (image.pinned ? protection('pinned', 'D7', { pinned: true }) : undefined);

function keptByList({ keep }: Policy): Protect {
  const keptBy = keepMatcher(keep);
  return (image) => {
    const entry = keptBy(image);
    return entry === undefined ? undefined : protection('kept-by-list', 'M11', { keptBy: entry });
  };
}

/** Without a digest from a registry nobody knows where to pull it from again (M11). */
const withoutDigest: Protect = ({ repoDigests }) =>
  repoDigests.length === 0 ? protection('no-digest', 'M11', { repoDigests: 0 }) : undefined;

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
