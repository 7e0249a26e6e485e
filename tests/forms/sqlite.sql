abs(n), abs(x), abs(-5)
char(65,66,233)
coalesce(name,'x'), coalesce(n,0)
note glob '*o*', glob('A*',name)
hex(name)
hex(n)
ifnull(n,0), iif(n>2,'a','b'), iif(x,1,2)
instr(note,'o'), instr(name,'n'), instr(n,'1')
length(name), length(n), length(x), length(day), length(ts)
name like 'a%', name like '%É%', name like 'éva', note like 'a\%b%'
note like 'a!%b!_c' escape '!', like('a%',name)
lower(name), upper(name), lower(n)
ltrim('  a '), rtrim('  a '), trim('  a '), trim('xxaxx','x'), ltrim(name,'A'), rtrim(name,'n')
max(n,2), min(n,2), max(n,x), min(name,'b')
nullif(n,7)
printf('%d',n), printf('%.2f',x), printf('%s-%s',name,n), printf('%5d|%05d',n,n), format('%s%%',n)
printf('%d',x)
replace(name,'n','m'), replace(name,'','m'), replace(n,'1','2')
round(x), round(x,1), round(n), round(x,2), round(2.5), round(-2.5), round(n,1), round(x,-1)
sign(n), sign(x)
substr(name,2), substr(name,2,2), substr(name,-2), substr(name,-2,1), substr(name,0), substr(name,0,2), substr(name,-10,9), substr(name,-10), substr(day,1,4), substr(n,1,1), substring(name,1,2), substr(ts,12,5)
typeof(n), typeof(x), typeof(name), typeof(null), typeof(1), typeof(1.5), typeof('a'), typeof(n+x), typeof(day)
unicode(name)
date(day), date(ts), time(ts), datetime(ts), datetime(day), julianday(day), julianday(ts), unixepoch(ts)
date(day,'+1 month'), date(day,'-1 month'), date(day,'+1 year'), date(day,'+1 day'), date(day,'start of month'), date(day,'start of year'), date(day,'start of month','+1 month','-1 day'), date(day,'weekday 0'), date(day,'weekday 3')
datetime(ts,'+90 minutes'), datetime(ts,'-3.5 hours'), datetime(ts,'+10 seconds'), datetime(ts,'start of day'), datetime(ts,'+1.5 days')
datetime(1577836800,'unixepoch'), date(n,'unixepoch'), strftime('%Y',n,'unixepoch'), datetime(1577836800.5,'unixepoch')
strftime('%Y',day) - strftime('%Y','2019-01-01'), strftime('%Y',day) + 1, strftime('%m',day) * 2, strftime('%Y',day) / 2, strftime('%d',day) % 3
strftime('%Y',name)
cast(strftime('%Y',day) as integer) - 1, cast(strftime('%m',day) as int) > 3
cast(note as integer), cast(note as real), cast(x as integer), cast(n as text), cast(x as text), cast('abc' as integer), cast(' 12' as int), cast(-2.7 as int), cast(n as real), cast('1e3' as real), cast(day as integer), cast(null as int), cast(n>1 as text), cast(x as numeric)
select n / 2, n / 2.0, x / 2, n / 0, x / 0, n % 2, n % 0, x % 2, n / x, 7 / 2, -7 / 2, n * 1.0 / 3, (n + 1) / 2, sum(n) / count(*) from v group by id order by id
n = '7', n > '5', note = 12, name = 5, note > 5, '7' = n, x = '2.5', day = '2020-01-31', day > '2020', ts > '2020-02-01', ts = '2020-01-31 10:20:30'
n between 1 and 10, n in (7,10), name in ('Ann','bob'), note in (12, 'a'), n is null, n is not null, n is 7, n is not 7
n > 2, not n, n and x, n or x, (n > 2) + (x > 1), n > 2 = 1, -(n > 2), case when n then 1 else 0 end, case n when 7 then 'a' else 'b' end, exists(select 1), true, false, n in (1,2)
name || '-' || n, name || x, day || 'x', ts || '', n || null
name collate nocase = 'ANN', name = 'ann' collate nocase
julianday(day) - julianday('2020-01-01'), cast(julianday(day) - julianday('2020-01-01') as integer), (julianday('2024-01-01') - julianday(day)) / 365.25
ln(10), log(100), log10(100), log2(8), log(2,8), exp(1), sqrt(16), pow(2,3), power(2,3), mod(7,3), mod(7.5,2), mod(-7,3), mod(-7.5,2), mod(7.5,-2), mod(7,0), mod(n,3), ceil(x), floor(x), ceiling(x), trunc(x), pi(), sin(1), degrees(1), radians(180), atan2(1,2), acos(0.5)
sqrt(-1), ln(0), ln(-1), acos(2), log(0)
select total(n), sum(n), avg(n), count(*), count(n), min(n), max(n), group_concat(name), group_concat(n,';'), sum(x), avg(x), min(name), max(day) from v
select avg(n > 2), sum(n > 2), sum(name = 'Ann'), count(n > 2), max(n > 2), total(n > 100), count(distinct name), sum(distinct n), group_concat(distinct n) from v where id < 5
select sum(n) from v where 0
select total(n), count(*), avg(n), max(n), group_concat(n) from v where id > 100
select name, max(n) from v
select name, min(n) from v
select id % 2, name, max(x) from v group by id % 2 order by 1
select n is null, name, max(n) from v group by 1 order by 1
select day, count(*) from v group by n > 2 order by n > 2
select name, rank() over (order by n desc) r from v order by id
select id, sum(n) over (partition by id % 2 order by id) from v order by id
select id, lag(n) over (order by id), lead(n,2,0) over (order by id), first_value(n) over (order by id), ntile(2) over (order by id), row_number() over (order by n), dense_rank() over (order by n is null), percent_rank() over (order by id), cume_dist() over (order by id), nth_value(n,2) over (order by id), last_value(n) over (order by id) from v order by id
select id % 2 k, sum(n) s, rank() over (order by sum(n) desc) r from v group by k order by k
select id % 2 k, sum(sum(n)) over () from v group by k order by k
select id % 2, count(*) filter (where n > 2), sum(n) filter (where x > 1) from v group by 1 order by 1
select name, n from v order by n, id
select name, n from v order by n desc, id
select rowid, name from v order by rowid
select v.rowid, v.oid, _rowid_ from v order by 1
with r(n) as (select 1 union all select n+1 from r where n<5) select sum(n) from r
select strftime('%Y', d) from (select date(day,'+1 year') as d, id from v) order by id
select y + 1 from (select strftime('%Y', day) as y, id from v) order by id
select count(*) from v a join v b on a.n > b.n
select "name", "nope" from v order by id limit 1
select id from v where name = "Ann"
select max(n) - min(n), max(day), min(ts) from v
select name from v where length(name) > 3 order by 1
select distinct strftime('%Y', day) from v order by 1
select strftime('%Y', day) y, count(*) from v group by y having count(*) > 1 order by y
select * from v where day between '2020-01-01' and '2020-12-31' order by id
select iif(1,2,3), ifnull(null,1), nullif(1,1), coalesce(null,null,3), likely(1)
select count(*), count(distinct n % 2) from v
select 1 = 1, 1 <> 2, 'a' < 'b', null = null, 1 is null, not 1
select 5 / 2 * 2, 5 * 2 / 4, 10 / 4.0, 1 / 3 * 3
select '5' + 3, '5' * '2', '2.5' + 1, 'abc' + 1
select sum(case when n > 2 then 1 else 0 end) * 100 / count(*), sum(case when n > 2 then 1.0 else 0 end) * 100 / count(*), cast(sum(case when n > 2 then 1 else 0 end) as real) * 100 / count(*), avg(n) * 100 / 3 from v
select total(n) / count(*), round(avg(n),2), round(sum(x)/2,1) from v
select id from v where n not in (7, 10) order by id
select id from v where name not like 'a%' order by id
select id, (select count(*) from v b where b.n < v.n) c from v order by id
select min(day), name from v
select id, max(ts) over () from v order by id limit 2
select substr(day,1,7) m, count(*), name from v group by m order by m
select upper(substr(name,1,1)) || lower(substr(name,2)) from v where id = 4
select group_concat(name, ', ') from (select name from v order by id)
select 3 between 1 and 5, 'b' between 'a' and 'c'
select cast('12.9' as integer), cast('12.9abc' as real), cast('' as integer), cast(1e3 as integer), cast('-5' as integer), cast(true as integer)
select n, count(*) from v group by n having max(x) > 1 order by n
select id from v where n order by id
select id from v where not (n > 2) order by id
select name from v where name >= 'B' order by name
select max(name), min(name), max(note) from v
select date('2020-01-31','+1 month','-1 day'), date('2024-02-29','-1 year'), date('2020-03-31','-1 month'), datetime('2020-01-01','+1 hour','+30 minutes')
select strftime('%d/%m/%Y', day), strftime('%H', ts) + 0, strftime('%Y-W%W', day) from v order by id
select time(ts,'+1 hour') from v order by id
select unixepoch('2020-01-01'), strftime('%s','2020-01-01') + 0
select julianday(ts) > 2458849.5 from v order by id
date(day,'1 month')
date(day,'+01 day')
date(2458849.5)
julianday('2020-01-01')
date('2020-13-01')
date('garbage')
date('')
date('12:30')
datetime('12:30')
time('12:30')
datetime('2020-01-01 10:20')
datetime('2020-01-01T10:20:30')
datetime('2020-01-01T10:20:30Z')
date('2020-1-5')
date('2020')
date('2020-01')
datetime('2020-01-01 10:20:30.678')
date('20200105')
strftime('%Y-%m-%d',day)
strftime('%H:%M:%S',ts)
strftime('%j',day)
strftime('%w',day)
strftime('%W',day)
strftime('%s',ts)
strftime('%f',ts)
strftime('%Y''%m',day)
strftime('x%%y%d',day)
strftime('%Y',day) = '2020'
strftime('%Y',day) > '2019'
n & 3
n | 4
n >> 1
~n
