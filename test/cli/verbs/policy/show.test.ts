import { expect, test } from 'vitest';
import { ownLog } from '../../fleetgc.ts';
import { apply, WEB } from './apply-text.ts';

test('what show prints can be applied again, and changes nothing', async () => {
  const own = await ownLog();
  await apply(own, `${WEB}imageMinimumGCAge: -1m30s\nkeep: {labels: {keep: "yes"}}\n`);
  const { stdout } = await own.run('policy', 'show', 'web');

  expect(stdout).toMatch(/^# version 1, applied .*Z, hash [0-9a-f]{64}\nname: web\n/);
  expect(stdout).toContain('imageMinimumGCAge: -1m30s\n');
  expect((await apply(own, stdout)).stdout).toBe('web: unchanged, version 1\n');
});

test('show --as-written gives the text that was applied', async () => {
  const own = await ownLog();
  await apply(own, `# mine\n${WEB}`);

  expect((await own.run('policy', 'show', 'web', '--as-written')).stdout).toMatch(
    /^# version 1, applied [^\n]*\n# mine\nname: web\nmode: enforce\nselector: \{clusters: \[prod\]\}\n$/,
  );
});

test('show of a name that does not exist says which one was probably meant', async () => {
  const own = await ownLog();
  await apply(own, 'name: production\nmode: dry-run\n');

  expect(await own.run('policy', 'show', 'prodction')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'fleetgc policy show: there is no policy named prodction; did you mean production?\n',
  });
});
