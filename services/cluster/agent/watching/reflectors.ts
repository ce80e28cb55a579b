import type { ResourceKind } from '../../../../packages/owner-graph/kinds.ts';
import { kindName } from '../../../../schemas/events/cluster-objects.ts';
import { type ReflectorOptions, reflect } from './reflector.ts';

interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** One reflector for each kind that is watched. */
export class Reflectors {
  readonly #options: ReflectorOptions;
  readonly #onFailure: (error: unknown) => void;
  readonly #running = new Map<ResourceKind, Running>();

  /** `onFailure` hears of what nobody foresaw. */
  constructor(options: ReflectorOptions, onFailure: (error: unknown) => void) {
    this.#options = options;
    this.#onFailure = onFailure;
  }

  start(kind: ResourceKind): void {
    const stop = new AbortController();
    const ended = reflect(kind, this.#options, stop.signal).catch(this.#onFailure);
    this.#running.set(kind, { stop, ended });
  }

  /** Lists a kind anew, by its name, since more or less is read of its objects now. Only when the one before has ended. */
  restart(name: string): void {
    for (const [kind, running] of this.#running) {
      if (kindName(kind) !== name) continue;
      running.stop.abort();
      const stop = new AbortController();
      const ended = running.ended
        .then(() => reflect(kind, this.#options, stop.signal))
        .catch(this.#onFailure);
      this.#running.set(kind, { stop, ended });
    }
  }

  /** Ends those of this resource, in whatever version. */
  stop({ group, resource }: ResourceKind): void {
    for (const [kind, { stop }] of this.#running) {
      if (kind.group !== group || kind.resource !== resource) continue;
      stop.abort();
      this.#running.delete(kind);
    }
  }

  async stopAll(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { stop } of running) stop.abort();
    await Promise.all(running.map(({ ended }) => ended));
  }
}
