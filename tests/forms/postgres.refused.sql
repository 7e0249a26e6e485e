substring(note from '[0-9]+')
to_char(n,'999')
to_char(day,'J')
extract(julian from day)
random()
gen_random_uuid()
select '{"a":{"b":2}}'::json -> 'a' ->> 'b', '{"a":"x"}'::jsonb ->> 'a', '[1,2]'::json -> 0, json_array_length('[1,2,3]'), json_typeof('{"a":1}'), '{"a":{"b":2}}'::json #>> '{a,b}'
select justify_days(interval '40 days') is not null
select e'a\nb'
select width_bucket(5,1,10,3), format('%s-%s','a',1)
overlay('Txxxxas' placing 'hom' from 2 for 4)
initcap(name)
