import type { ListedContainer, ListedImage } from '../../../packages/cri/listing-types.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import { IMAGE_HISTORY_FILE, type ImageHistoryFile } from '../../../schemas/state/image-history.ts';
import type { PolicyInForce } from '../../../services/node/executor/checks.ts';
import { digestOf } from '../../../test/fixtures/listing.ts';
import { instant } from '../../../test/fixtures/time.ts';
import { type ManualClock, manualClock } from '../../../test/support/manual-clock.ts';
import { deadContainer, FIRST, listedImage, type Scenario, SECOND } from './scenario.ts';

/** What one move did to what lies outside of the process. */
export interface Touched {
  readPolicy: boolean;
  readImages: boolean;
  readContainers: boolean;
  /** Changes of files, each of which is on disk before the next one begins. */
  writes: number;
  /** Something went, or came onto the log. */
  hadEffect: boolean;
}

export const untouched = (): Touched => ({
  readPolicy: false,
  readImages: false,
  readContainers: false,
  writes: 0,
  hadEffect: false,
});

/** A removal that a process asked for which has died since: the runtime may go on with it. */
export interface Orphan {
  readonly kind: 'images' | 'containers';
  readonly id: string;
}

/** A node outside of its executor: what is still there when that dies. */
export class Node {
  readonly images: Map<string, ListedImage>;
  readonly containers: Map<string, ListedContainer>;
  /** State files by name, as they are written. */
  readonly files: Map<string, string>;
  readonly clock: ManualClock;
  /** Ids as they went. */
  readonly gone: string[];
  /** Ids that were to be removed when they had gone. */
  readonly missed: string[];
  orphans: readonly Orphan[] = [];
  isPaused = false;
  policy = FIRST;
  touched = untouched();

  private constructor(
    now: Instant,
    objects: Pick<Node, 'images' | 'containers' | 'files' | 'gone' | 'missed'>,
  ) {
    this.clock = manualClock(now);
    this.images = new Map(objects.images);
    this.containers = new Map(objects.containers);
    this.files = new Map(objects.files);
    this.gone = [...objects.gone];
    this.missed = [...objects.missed];
  }

  static of({ images, containers }: Scenario): Node {
    const known: ImageHistoryFile = {
      version: 1,
      at: instant(),
      watchedSinceMs: 0,
      clockSteadySince: instant(),
      images: images.map((name) => [digestOf(name), 0, null]),
    };
    return new Node(instant(), {
      images: new Map(images.map(listedImage).map((image) => [image.id, image])),
      containers: new Map(containers.map(deadContainer).map((one) => [one.id, one])),
      files: new Map([[IMAGE_HISTORY_FILE, JSON.stringify(known)]]),
      gone: [],
      missed: [],
    });
  }

  copy(): Node {
    const copy = new Node(this.clock.now(), this);
    copy.isPaused = this.isPaused;
    copy.policy = this.policy;
    copy.orphans = this.orphans;
    return copy;
  }

  policyInForce(): PolicyInForce {
    this.touched.readPolicy = true;
    if (this.isPaused) return { kind: 'paused', pause: { reason: 'an incident' } };
    return { kind: 'enforced', record: this.policy };
  }

  changePolicy(): void {
    this.policy = SECOND;
  }

  listImages(): ListedImage[] {
    this.touched.readImages = true;
    return [...this.images.values()];
  }

  listContainers(): ListedContainer[] {
    this.touched.readContainers = true;
    return [...this.containers.values()];
  }

  remove({ kind, id }: Orphan): void {
    this.touched.hadEffect = true;
    // What is gone already is an answer of its own.
    if (kind === 'images') this.touched.readImages = true;
    else this.touched.readContainers = true;
    if (!this[kind].delete(id)) {
      this.missed.push(id);
      throw new FleetGcError('RUNTIME_NOT_FOUND', `"${id}": not found`);
    }
    this.gone.push(id);
  }

  write(name: string, content: string): void {
    this.touched.writes += 1;
    this.files.set(name, content);
  }
}
