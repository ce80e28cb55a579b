import { beforeAll, describe, expect, test } from 'vitest';
import { openOwnApiServer } from '../../../test/support/nodes/own-api-server.ts';
import { PROGRAM } from '../../../test/support/program.ts';
import { ensureToolchain } from '../../../test/support/toolchain/toolchain.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { Api } from '../play/api.ts';
import { Deeds, startFleetGc } from '../sides/fleetgc.ts';
import { SUBJECTS } from '../subjects.ts';
import { compareWithdrawn, DONE_MS, played } from './compare-withdrawn.ts';
import { drawWithdrawal, expectedToStay, survivors } from './withdraw.ts';

const SEEDS = [1, 2, 3, 4, 5, 6];

beforeAll(() => ensureToolchain(['api-server', 'kube-controller-manager']));

describe('[cluster S17] the definitions of some kinds are deleted, whose objects own others', () => {
  test('kube-controller-manager and FleetGC in profile kubernetes leave what has another owner, and the same references', async () => {
    const campaign = { program: PROGRAM, deeds: new Deeds(), tell: () => undefined };
    const extent = { seeds: SEEDS, batch: SEEDS.length };
    const { outcomes, problems } = await compareWithdrawn(campaign, extent, new AbortController().signal);
    expect(problems).toEqual([]);
    for (const { seed, differences, survivors: left } of outcomes) {
      expect(differences, `seed ${seed}`).toEqual([]);
      expect(left.kcm, `seed ${seed}`).toBe(expectedToStay(drawWithdrawal(seed, 'kcm')).length);
    }
    expect(outcomes.map(({ seed }) => seed)).toEqual(SEEDS);
    expect(outcomes.some(({ isEffective }) => isEffective)).toBe(true);
  });

  test('in profile fleetgc what would go is held', async () => {
    await using server = await openOwnApiServer('fleetgc-compare');
    const api = new Api(server.connection);
    const deeds = new Deeds();
    const { ownership } = SUBJECTS;
    const held = { ...ownership, fleetgc: { ...ownership.fleetgc, policy: { profile: 'fleetgc' } } };
    await using collector = await startFleetGc(held, server.kubeconfig, { program: PROGRAM, deeds });
    const all = await played(api, 'fleetgc', SEEDS, collector);
    const going = all.reduce((sum, each) => sum + each.dependents.length - expectedToStay(each).length, 0);
    await waitUntil('what would go to be held', DONE_MS, () => (deeds.decided.get('hold S3') ?? 0) >= going);
    const names = (of: readonly string[]): readonly string[] => of.map((each) => each.split(' ')[0] ?? '');
    for (const each of all)
      expect(names(await survivors(api, each))).toEqual(each.dependents.map(({ name }) => name).toSorted());
  });
});
