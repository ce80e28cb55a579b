import { counted } from '../../../packages/text/counted.ts';
import { sizeText } from '../../../packages/text/size-text.ts';
import type { Holder } from '../../../schemas/events/command.ts';

/** What is said of images that hold space, behind their number. */
const OF_IMAGES: Readonly<Record<Exclude<Holder['reason'], 'not-images'>, string>> = {
  'in-use': 'in use',
  pinned: 'pinned by the runtime',
  'too-young': 'younger than the minimum age',
  'kept-by-list': 'that a policy keeps',
  'no-digest': 'without a digest to pull them by',
  'not-ours': 'of containers that Kubernetes did not create',
  'backing-off': 'whose removal failed before',
  'not-believed': 'of which not all was believed',
  waiting: 'that wait for the next round',
  held: 'held by a pause or by the node’s own file',
};

/** What holds the space of a disk, the most first: `14 images in use 7.2 GB, what is no image 2.0 GB`. */
export const holdersText = (holders: readonly Holder[]): string =>
  holders
    .toSorted((a, b) => b.bytes - a.bytes)
    .map((holder) => `${nameOf(holder)} ${sizeText(BigInt(holder.bytes))}`)
    .join(', ');

const nameOf = ({ reason, objects }: Holder): string =>
  reason === 'not-images' ? 'what is no image' : `${counted(objects, 'image')} ${OF_IMAGES[reason]}`;
