/** What instrumented sources look at, by its name in them. */
interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: Coverage | undefined;
}

/** How often each mutant was passed. */
export type Hits = Record<string, number>;

interface Coverage {
  readonly static: Hits;
  readonly perTest: Record<string, Hits>;
}

declare global {
  var __stryker__: Switches | undefined;
}

globalThis.__stryker__ ??= {};
const switches = globalThis.__stryker__;

export function switchOn(mutant: string, hitLimit: number): void {
  switches.activeMutant = mutant;
  switches.hitCount = 0;
  switches.hitLimit = hitLimit;
}

export const hitsOfMutant = (): number => switches.hitCount ?? 0;
export const isOverHitLimit = (): boolean => hitsOfMutant() > (switches.hitLimit ?? Number.POSITIVE_INFINITY);

export function switchOff(): void {
  // Not undefined: a source that finds none looks into the environment.
  switches.activeMutant = 'none';
}

export function coverAs(id: string): void {
  switches.currentTestId = id;
}

/** What ran as this since the last question. */
export function takeCovered(id: string): Hits {
  const covered = switches.mutantCoverage?.perTest[id] ?? {};
  delete switches.mutantCoverage?.perTest[id];
  return covered;
}
