import type { ProcessControl, StopSignal } from '../../packages/process/run.ts';

/** A process that never ends: signals, faults and the passing of time are called by the test. */
export class FakeProcess implements ProcessControl {
  readonly exitCodes: number[] = [];
  private readonly stopListeners = new Set<(signal: StopSignal) => void>();
  private readonly faultListeners = new Set<(error: unknown) => void>();
  private readonly timers = new Map<() => void, number>();

  onStopSignal(listener: (signal: StopSignal) => void): () => void {
    this.stopListeners.add(listener);
    return () => this.stopListeners.delete(listener);
  }

  onUncaught(listener: (error: unknown) => void): () => void {
    this.faultListeners.add(listener);
    return () => this.faultListeners.delete(listener);
  }

  exit(code: number): void {
    this.exitCodes.push(code);
  }

  after(delayMs: number, listener: () => void): () => void {
    this.timers.set(listener, delayMs);
    return () => this.timers.delete(listener);
  }

  signal(name: StopSignal): void {
    for (const listener of this.stopListeners) listener(name);
  }

  fault(error: unknown): void {
    for (const listener of this.faultListeners) listener(error);
  }

  /** Lets so much time pass. */
  pass(ms: number): void {
    for (const [listener, delayMs] of this.timers) if (delayMs <= ms) listener();
  }

  get listening(): number {
    return this.stopListeners.size + this.faultListeners.size + this.timers.size;
  }
}
