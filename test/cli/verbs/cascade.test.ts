import { expect, test } from 'vitest';
import { inProcess } from '../fleetgc.ts';

test.each([
  { object: 'Deployment/shop/web', read: 'Deployment/shop/web' },
  { object: 'apps/Deployment/shop/web', read: 'apps/Deployment/shop/web' },
  { object: 'deployments/shop/web', read: 'deployments/shop/web' },
])('a namespace between kind and name is a namespace: $object', async ({ object, read }) => {
  const { exitCode, stderr } = await inProcess([
    'cascade',
    object,
    '--namespace',
    'other',
    '--kubeconfig',
    '/nowhere',
  ]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`${read} is not in --namespace other`);
});

test.each(['web', 'Deployment/', 'apps/Deployment/shop/web/more', 'Deployment/a/b/c'])(
  'what is no object is refused with its form: %s',
  async (object) => {
    const { exitCode, stderr } = await inProcess(['cascade', object]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('must be KIND/NAME or KIND/NAMESPACE/NAME');
  },
);
