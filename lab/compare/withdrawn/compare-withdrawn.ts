import { type OwnApiServer, openOwnApiServer } from '../../../test/support/nodes/own-api-server.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { Campaign, Compared, Extent } from '../campaign.ts';
import type { SeedOutcome } from '../judge/verdict.ts';
import { Api } from '../play/api.ts';
import type { Collector } from '../sides/collector.ts';
import { startFleetGc } from '../sides/fleetgc.ts';
import { startKcm } from '../sides/kcm.ts';
import { SUBJECTS } from '../subjects.ts';
import { drawWithdrawal, expectedToStay, survivors, type Withdrawal, withdraw } from './withdraw.ts';

/** FleetGC counts a kind as withdrawn after a minute. */
export const DONE_MS = 180_000;

/** What a side left, by seed. */
interface Left {
  readonly withdrawal: Withdrawal;
  readonly survivors: readonly string[];
}

/** Plays these seeds on one API server: with kube-controller-manager, and with FleetGC in profile kubernetes. No batch once the signal has aborted. */
export async function compareWithdrawn(
  campaign: Omit<Campaign, 'subject' | 'isOneEnough'>,
  { seeds, batch }: Pick<Extent, 'seeds' | 'batch'>,
  signal: AbortSignal,
): Promise<Compared> {
  await using server = await openOwnApiServer('fleetgc-compare');
  const outcomes: SeedOutcome[] = [];
  const problems: string[] = [];
  for (let at = 0; at < seeds.length && !signal.aborted; at += batch) {
    const played = seeds.slice(at, at + batch);
    try {
      const kcm = await leftBy('kcm', played, server, () => startKcm(SUBJECTS.ownership, server.kubeconfig));
      const fleetgc = await leftBy('fleetgc', played, server, () =>
        startFleetGc(SUBJECTS.ownership, server.kubeconfig, campaign),
      );
      for (const [index, seed] of played.entries()) {
        const theirs = kcm[index];
        const ours = fleetgc[index];
        if (theirs !== undefined && ours !== undefined) outcomes.push(outcomeOf(seed, theirs, ours));
      }
      campaign.tell(`withdrawn kinds: ${outcomes.length} of ${seeds.length} seeds`);
    } catch (error) {
      problems.push(`seeds ${played.join(', ')}: ${error instanceof Error ? error.message : String(error)}`);
      campaign.tell(problems.at(-1) ?? '');
    }
  }
  return { outcomes, problems };
}

async function leftBy(
  side: string,
  seeds: readonly number[],
  { connection }: OwnApiServer,
  start: () => Promise<Collector>,
): Promise<readonly Left[]> {
  const api = new Api(connection);
  await using collector = await start();
  const all = await played(api, side, seeds, collector);
  const isEnd = async (): Promise<boolean> => {
    const found = await Promise.all(all.map((each) => survivors(api, each)));
    return all.every((each, index) => JSON.stringify(found[index]) === JSON.stringify(expectedToStay(each)));
  };
  // What is left after that is compared as it is.
  await waitUntil('what owners of withdrawn kinds left to be dealt with', DONE_MS, isEnd).catch(
    () => undefined,
  );
  return await Promise.all(
    all.map(async (withdrawal) => ({ withdrawal, survivors: await survivors(api, withdrawal) })),
  );
}

/** Plays all seeds while this collector runs. */
export async function played(
  api: Api,
  side: string,
  seeds: readonly number[],
  collector: Collector,
): Promise<readonly Withdrawal[]> {
  const all = seeds.map((seed) => drawWithdrawal(seed, side));
  await Promise.race([collector.ended, Promise.all(all.map((each) => withdraw(api, each)))]);
  return all;
}

function outcomeOf(seed: number, kcm: Left, fleetgc: Left): SeedOutcome {
  const objects = kcm.withdrawal.dependents.length;
  const only = (a: Left, b: Left): readonly string[] =>
    a.survivors.filter((each) => !b.survivors.includes(each));
  const differences = [
    ...only(kcm, fleetgc).map((each) => `only kube-controller-manager leaves ${each}`),
    ...only(fleetgc, kcm).map((each) => `only FleetGC leaves ${each}`),
  ].map((text, id) => ({ id, text }));
  return {
    seed,
    isWild: false,
    verdict: differences.length === 0 ? 'equal' : 'different',
    isEffective: kcm.survivors.length < objects,
    objects,
    survivors: { kcm: kcm.survivors.length, fleetgc: fleetgc.survivors.length, none: objects },
    differences,
    stalled: {},
    isOneOfKcms: differences.length === 0,
  };
}
