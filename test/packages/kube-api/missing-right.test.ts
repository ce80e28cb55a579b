import { expect, test } from 'vitest';
import { withMissingRight } from '../../../packages/kube-api/status.ts';

const WIDGETS = { group: 'example.com', resource: 'widgets' };
const forbidden = (verb: string): string =>
  `status 403, Forbidden: widgets.example.com is forbidden: User "x" cannot ${verb} resource "widgets" in API group "example.com" at the cluster scope`;

test.each([
  ['list', '["list","watch"]'],
  ['watch', '["list","watch"]'],
  ['delete', '["delete"]'],
])('who may not %s is told the rule that is missing', (verb, verbs) => {
  expect(withMissingRight(forbidden(verb), WIDGETS)).toBe(
    `the role lacks the rule {"apiGroups":["example.com"],"resources":["widgets"],"verbs":${verbs}}: ${forbidden(verb)}`,
  );
});

test('what admission forbids no role allows', () => {
  const denied = 'status 403, Forbidden: widgets "a" is forbidden: ValidatingAdmissionPolicy denied request';
  expect(withMissingRight(denied, WIDGETS)).toBe(denied);
});
