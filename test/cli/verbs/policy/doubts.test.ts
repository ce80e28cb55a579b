import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clusterOutput, nodeOutput } from '../../../../packages/decision/handler.ts';
import { census } from '../../../fixtures/census.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { container, image, inventory } from '../../../fixtures/inventory.ts';
import { instant } from '../../../fixtures/time.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { publishWithPositions } from '../../../support/logs/positions.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { inProcess, ownLog } from '../../fleetgc.ts';
import { apply } from './apply-text.ts';

/** A log on which node prod/web-1 and cluster prod tell of themselves. */
async function fleetOfOne() {
  const own = await ownLog();
  const takenAt = instant({ wallTimeMs: Date.now() });
  const images = [image('base/web', { labels: { team: 'shop' } }), image('tools/debug')];
  await publishWithPositions(own.log, [
    outgoing(nodeOutput('diskStats', diskStats({}, { takenAt }))),
    outgoing(nodeOutput('inventory', inventory({ takenAt, images, containers: [container('c1')] }))),
    outgoing(clusterOutput('clusterCensus', census())),
  ]);
  return own;
}

function validate(text: string) {
  const path = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(path, text);
  return inProcess(['policy', 'validate', path]);
}

const NODES = 'name: web\nmode: dry-run\n';

describe('apply warns of a selector that matches nothing, and says what there is', () => {
  test.each([
    [
      'a cluster',
      `${NODES}selector: {clusters: [prodd]}\n`,
      'warning: Policy web matches no known node (cluster prodd). Check its selector. Known nodes: prod/web-1.\n',
    ],
    [
      'a node and a pool',
      `${NODES}selector: {nodeNames: ["db-*"], pools: [gpu]}\n`,
      'warning: Policy web matches no known node (node db-*, pool gpu). Check its selector. Known nodes: prod/web-1.\n',
    ],
    [
      'the cluster of a policy for clusters',
      'kind: ClusterPolicy\nname: web\nmode: dry-run\nprofile: kubernetes\nselector: {clusters: [prodd]}\n',
      'warning: Policy cluster/web matches no known cluster (cluster prodd). Check its selector. Known clusters: c1.\n',
    ],
  ])('%s', async (_, text, warning) => {
    const own = await fleetOfOne();
    const { exitCode, stderr } = await apply(own, text);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: warning });
  });

  test('and again where nothing changes, and in a dry run, while the document for machines stays as it is', async () => {
    const own = await fleetOfOne();
    const text = `${NODES}selector: {clusters: [prodd]}\n`;
    const first = await apply(own, text, '--dry-run', '-o', 'json');
    expect(first.stderr).toContain('matches no known node');
    expect(Object.keys(JSON.parse(first.stdout))).toEqual(['dryRun', 'changes']);
    await apply(own, text);
    expect((await apply(own, text)).stderr).toContain('matches no known node');
  });

  test('but not of one that matches, and not where the log tells of no node', async () => {
    const own = await fleetOfOne();
    expect((await apply(own, `${NODES}selector: {clusters: [prod], nodeNames: ["web-*"]}\n`)).stderr).toBe(
      '',
    );
    expect((await apply(await ownLog(), `${NODES}selector: {clusters: [prodd]}\n`)).stderr).toBe('');
  });
});

describe('apply warns of a new keep entry that protects nothing', () => {
  const WHERE = 'matches nothing on the node that reported in the last 15 min.';
  test.each([
    [
      '{images: ["registy.example/base/**"]}',
      `keep.images "registy.example/base/**" ${WHERE} Did you mean registry.example/base/**?`,
    ],
    [
      '{images: ["registry.example/base/wep:1"]}',
      `keep.images "registry.example/base/wep:1" ${WHERE} Did you mean registry.example/base/web:1?`,
    ],
    [
      `{digests: ["sha256:${'b'.repeat(64)}"]}`,
      `keep.digests "sha256:${'b'.repeat(64)}" ${WHERE} Check the spelling.`,
    ],
    ['{labels: {team: shpo}}', `keep.labels "team=shpo" ${WHERE} Check the spelling.`],
    ['{namespaces: [defaul]}', `keep.namespaces "defaul" ${WHERE} Did you mean default?`],
  ])('%s', async (keep, doubt) => {
    const own = await fleetOfOne();
    expect((await apply(own, `${NODES}keep: ${keep}\n`)).stderr).toBe(`warning: Policy web: ${doubt}\n`);
  });

  test('of many, the first ten are named and the others counted', async () => {
    const own = await fleetOfOne();
    const images = Array.from({ length: 12 }, (_, n) => `registry.example/none-${n}:*`);
    const lines = (await apply(own, `${NODES}keep: {images: ${JSON.stringify(images)}}\n`)).stderr.split(
      '\n',
    );
    expect(lines).toHaveLength(12);
    expect(lines[10]).toBe('warning: Policy web: 2 more new keep entries match nothing.');
  });

  test('but not of one that stood there before, or that protects something', async () => {
    const own = await fleetOfOne();
    await apply(own, `${NODES}keep: {images: ["registry.example/nothing/**"]}\n`);
    const { stderr } = await apply(
      own,
      `${NODES}keep: {images: ["registry.example/nothing/**", "registry.example/base/**"], labels: {team: shop}, namespaces: [default]}\n`,
    );
    expect(stderr).toBe('');
  });

  test('an image on a node that the policy does not select is not protected by it', async () => {
    const own = await fleetOfOne();
    const takenAt = instant({ wallTimeMs: Date.now() });
    const other = { node: 'db-1', images: [image('db')], takenAt };
    await publishWithPositions(own.log, [
      outgoing(nodeOutput('diskStats', diskStats({}, { node: 'db-1', takenAt }))),
      outgoing(nodeOutput('inventory', inventory(other))),
    ]);
    const { stderr } = await apply(
      own,
      `${NODES}selector: {nodeNames: [web-1]}\nkeep: {images: ["registry.example/db:*"]}\n`,
    );
    expect(stderr).toContain('keep.images "registry.example/db:*" matches nothing');
  });
});

describe('what is written for a kubelet is no policy, and is told as what it is', () => {
  const KUBELET =
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nimageGCHighThresholdPercent: 80\nimageGCLowThresholdPercent: 70\nclusterDomain: cluster.local\n';

  test.each(['validate', 'apply'])(
    'a pasted KubeletConfiguration: policy %s prints the policy',
    async (verb) => {
      const own = await ownLog();
      const { exitCode, stdout, stderr } =
        verb === 'apply' ? await apply(own, KUBELET) : await validate(KUBELET);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(
        ':1:1: this is a KubeletConfiguration and no policy. As a policy it is as follows; "fleetgc policy from-kubelet FILE" prints it, and what it leaves out:\n  name: kubelet\n  mode: dry-run\n  profile: kubelet\n  imageGCHighThresholdPercent: 80\n',
      );
      expect(stderr).toContain(` policy ${verb}: 1 problem; `);
    },
  );

  test('one that no kubelet would take', async () => {
    const { stderr } = await validate(KUBELET.replace('80', '800'));
    expect(stderr).toContain('makes a policy of it, and says first what is wrong with it\n');
  });

  test('a file of another tool that holds it within', async () => {
    const { stderr } = await validate(
      'apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec: {kubelet: {imageGCHighThresholdPercent: 80}}\n',
    );
    expect(stderr).toContain(
      'this is no policy; this is a kOps cluster: the settings of the kubelet are in spec.kubelet.',
    );
  });

  test('a field of the kubelet within a policy', async () => {
    const { stderr } = await validate(`${NODES}imageGCHighThresholdPercent: 80\nmaxPods: 110\n`);
    expect(stderr).toMatch(/:4:1: maxPods: is a setting of the kubelet \(.*\) that no policy has; remove it/);
  });
});
