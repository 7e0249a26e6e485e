substr(name,n,1)
quote(name)
strftime('%e',day)
cast(day as date)
cast(note as numeric)
day - ts
day + 1
random()
soundex(name)
select json_extract('{"a":{"b":2}}','$.a.b'), json_extract('{"a":"x"}','$.a'), json_extract('{"a":[1,2]}','$.a'), json_array_length('[1,2,3]'), json_type('{"a":1}'), json_valid('{'), '{"a":1}' -> '$.a', '{"a":"x"}' ->> 'a', json('{"a": 1}')
date(ts,'+ 1 day')
datetime(ts,'localtime')
datetime(ts,'utc')
strftime('%J',ts)
strftime('%Y',day) = 2020
