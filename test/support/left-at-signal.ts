import { getEventListeners } from 'node:events';

/** What a signal keeps for as long as it lives: listeners, and what Node.js notes there for each `AbortSignal.any`. */
export function leftAt(signal: AbortSignal): number {
  const dependants = Object.getOwnPropertySymbols(signal)
    .filter(({ description }) => description === 'kDependantSignals')
    .map((symbol): unknown => Reflect.get(signal, symbol))
    .map((set) => Number(Reflect.get(Object(set), 'size') ?? 0));
  return dependants.reduce((sum, size) => sum + size, getEventListeners(signal, 'abort').length);
}
